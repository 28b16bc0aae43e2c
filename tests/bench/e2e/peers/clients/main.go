// Clients that create objects at once, each over a connection of its own: Python would be slower than the API server.
//
// The bodies come from standard input, one a line; NAME in them becomes a name that no other create has. The report is
// one JSON object: milliseconds of each create, seconds in all, failed calls, and one of their texts.
package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

type report struct {
	Milliseconds []float64 `json:"milliseconds"`
	Seconds      float64   `json:"seconds"`
	Failed       int       `json:"failed"`
	Fault        string    `json:"fault"`
}

type client struct {
	http  *http.Client
	url   string
	token string
	report
}

func (c *client) ask(method, url string, body []byte, code int) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+c.token)
	request.Header.Set("Content-Type", "application/json")
	reply, err := c.http.Do(request)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	text, err := io.ReadAll(reply.Body)
	if err == nil && reply.StatusCode != code {
		err = fmt.Errorf("%d %s", reply.StatusCode, text)
	}
	return err
}

func (c *client) create(bodies [][]byte, first int, until time.Time) {
	for number := first; time.Now().Before(until); number++ {
		body := bytes.ReplaceAll(bodies[number%len(bodies)], []byte("NAME"), fmt.Appendf(nil, "m-%d", number))
		started := time.Now()
		if err := c.ask("POST", c.url, body, http.StatusCreated); err != nil {
			c.Failed++
			c.Fault = err.Error()
			continue
		}
		c.Milliseconds = append(c.Milliseconds, float64(time.Since(started).Microseconds())/1e3)
	}
}

func main() {
	server := flag.String("server", "", "the address of the API server")
	path := flag.String("path", "", "the path that objects are posted to")
	authorities := flag.String("ca", "", "a file with the CA of the API server")
	token := flag.String("token", "", "what the clients authenticate with")
	count := flag.Int("clients", 1, "how many create at once")
	length := flag.Duration("time", time.Second, "how long they create")
	first := flag.Int("first", 0, "the number of the first object; each client has 10,000 numbers")
	flag.Parse()

	pem, err := os.ReadFile(*authorities)
	if err != nil {
		panic(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	var bodies [][]byte
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		bodies = append(bodies, bytes.Clone(lines.Bytes()))
	}
	clients := make([]*client, *count)
	atOnce(clients, func(number int) {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}} // without HTTP/2: one connection
		clients[number] = &client{http: &http.Client{Transport: transport}, url: *server + *path, token: *token}
		if err := clients[number].ask("GET", *server+"/version", nil, http.StatusOK); err != nil {
			panic(err)
		}
	})
	started := time.Now()
	atOnce(clients, func(number int) {
		clients[number].create(bodies, *first+number*10000, started.Add(*length))
	})
	all := report{Seconds: time.Since(started).Seconds()}
	for _, each := range clients {
		all.Milliseconds = append(all.Milliseconds, each.Milliseconds...)
		all.Failed += each.Failed
		if each.Fault != "" {
			all.Fault = each.Fault
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(all); err != nil {
		panic(err)
	}
}

func atOnce(clients []*client, do func(number int)) {
	var running sync.WaitGroup
	for number := range clients {
		running.Add(1)
		go func() {
			defer running.Done()
			do(number)
		}()
	}
	running.Wait()
}
