# The image of the gate and of the reconciler: one command, `modelgate`.
#
#   make image                       builds it with docker, podman or buildah
#   --build-arg PYTHON_IMAGE=…       uses another base: any glibc image with python3 ≥ 3.11 and its venv module. For a
#                                    release, add the digest: python:3.11-slim-bookworm@sha256:…
#
# Two builds from the same base, source and SOURCE_DATE_EPOCH are the same image (podman and buildah; docs/verify.md).
ARG PYTHON_IMAGE=python:3.11-slim-bookworm

FROM ${PYTHON_IMAGE} AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1 PIP_ROOT_USER_ACTION=ignore
WORKDIR /src
# Two environments: /opt/modelgate goes into the image, without pip; /opt/build stays in this stage.
RUN python3 -m venv --without-pip /opt/modelgate && python3 -m venv /opt/build
# Dependencies before the code, so that a change of the code does not download them again. Wheels only: no setup.py runs.
COPY requirements/run.txt requirements/build.txt requirements/unused.txt requirements/
RUN /opt/build/bin/pip --python /opt/modelgate/bin/python install --no-compile --require-hashes --only-binary :all: \
    -r requirements/run.txt \
 && /opt/build/bin/pip install --require-hashes --only-binary :all: -r requirements/build.txt
# Without what is never imported: 120 of 200 MB. The kubernetes client has an asynchronous half and a class for each type;
# others bring their tests, and the names of months in 27 languages.
RUN /opt/build/bin/pip --python /opt/modelgate/bin/python uninstall -q -y -r requirements/unused.txt \
 && cd /opt/modelgate/lib/python3*/site-packages \
 && rm -r kubernetes/aio websocket/tests certifi/tests \
 && find pendulum/locales -mindepth 1 -maxdepth 1 -type d ! -name 'en*' -exec rm -r {} + \
 && find kubernetes/client/api kubernetes/client/models -name '*.py' ! -name __init__.py -delete \
 && find . -name '*.py[ixd]' -delete
# Everything that .dockerignore allows.
COPY . .
# Compile byte code now: the file system is read-only at run time, and compiling takes most of a cold start. The source
# cannot change, so Python need not check it (unchecked-hash). One process with a fixed hash seed writes the same bytes
# each time.
RUN /opt/build/bin/pip wheel --no-deps --no-build-isolation --wheel-dir /dist . \
 && /opt/build/bin/pip --python /opt/modelgate/bin/python install --no-compile --no-deps --no-index /dist/*.whl \
 && PYTHONHASHSEED=0 /opt/modelgate/bin/python -m compileall -q --invalidation-mode unchecked-hash /opt/modelgate/lib
# Compile the built-in policies, too: it takes two thirds of the time until the gate is ready. -P: not the source in /src.
RUN PYTHONHASHSEED=0 /opt/modelgate/bin/python -P -B -c "from modelgate.webhook.catalog import ship; ship()"
# What runs them: the interpreter, the libraries that it and they are linked with, and no shell.
RUN PYTHONHASHSEED=0 python3 tools/image.py /image /opt/modelgate && mkdir /image/opt && cp -a /opt/modelgate /image/opt/
# Every command still finds what it imports, there.
RUN for command in serve check certs reconcile doctor; do chroot /image /opt/modelgate/bin/modelgate $command --help > /dev/null || exit 1; done \
 && chroot /image /opt/modelgate/bin/python -B -c "import modelgate.webhook.cluster.live, modelgate.certs.api, celpy, \
opentelemetry.exporter.otlp.proto.http.trace_exporter, ssl, sqlite3, lzma, bz2, ctypes, zoneinfo; zoneinfo.ZoneInfo('Asia/Tokyo'); \
from kubernetes import config, client; client.ApiClient()"

FROM scratch
LABEL org.opencontainers.image.title="modelgate" \
      org.opencontainers.image.description="Admission webhook and policy server for the custom resources of LLM serving" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /image /
ENV PATH=/opt/modelgate/bin PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 LANG=C.UTF-8
# A numeric user, so that the kubelet can verify that it is not root.
USER 65532:65532
EXPOSE 9443
ENTRYPOINT ["modelgate"]
CMD ["--help"]
