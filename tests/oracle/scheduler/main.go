// What kube-scheduler says of a pod and the nodes of a cluster without other pods: JSON lines in, JSON lines out.
//
//	{"pod": <PodSpec>, "nodes": [<Node> …]}   →   {"message": "0/2 nodes are available: …"}, or {"message": ""} if a node fits
//
// It is the scheduler's own code with its default profile: filters, diagnosis and text. A limit without a request becomes
// a request, as the API server fills it in.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/events"
	"k8s.io/klog/v2"
	corev1 "k8s.io/kubernetes/pkg/apis/core/v1"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/profile"
)

type question struct {
	Pod   v1.PodSpec `json:"pod"`
	Nodes []*v1.Node `json:"nodes"`
}

type answer struct {
	Message string `json:"message"`
	Error   string `json:"error,omitempty"`
}

func decide(line []byte) (string, error) {
	var asked question
	if err := json.Unmarshal(line, &asked); err != nil {
		return "", err
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client := fake.NewClientset()
	factory := informers.NewSharedInformerFactory(client, 0)
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: client.EventsV1()})
	snapshot := cache.NewSnapshot(nil, asked.Nodes)
	sched, err := scheduler.New(ctx, client, factory, nil, profile.NewRecorderFactory(broadcaster), scheduler.WithNodeInfoSnapshot(snapshot))
	if err != nil {
		return "", err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	pod := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "default", UID: "p"}, Spec: asked.Pod}
	corev1.SetObjectDefaults_Pod(pod)
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		return "", err
	}
	queued := &framework.QueuedPodInfo{PodInfo: info}
	_, err = sched.SchedulePod(ctx, sched.Profiles["default-scheduler"], framework.NewCycleState(), queued)
	var unfit *framework.FitError
	if errors.As(err, &unfit) {
		return unfit.Error(), nil
	}
	if errors.Is(err, scheduler.ErrNoNodesAvailable) {
		return err.Error(), nil
	}
	return "", err
}

func main() {
	flag.Int("j", 1, "ignored: questions are answered in order")
	flag.Parse()
	klog.SetOutput(io.Discard)
	klog.LogToStderr(false)
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		message, err := decide(lines.Bytes())
		told := answer{Message: message}
		if err != nil {
			told.Error = fmt.Sprint(err)
		}
		if err := out.Encode(told); err != nil {
			os.Exit(1)
		}
	}
}
