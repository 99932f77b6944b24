# syntax=docker/dockerfile:1
FROM python:3.13-slim AS build
RUN pip install --no-cache-dir uv
WORKDIR /build
COPY pyproject.toml README.md LICENSE requirements.lock ./
COPY src ./src
# As a constraint, the lock file pins versions and hashes without installing its test dependencies.
RUN uv venv /opt/dissensus && \
    VIRTUAL_ENV=/opt/dissensus uv pip install --no-cache --compile-bytecode --constraint requirements.lock '.[site]'

FROM python:3.13-slim
RUN useradd --system --uid 10001 --create-home --home-dir /data dissensus
COPY --from=build /opt/dissensus /opt/dissensus
ENV PATH=/opt/dissensus/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    NUMBA_CACHE_DIR=/tmp/numba \
    DISSENSUS_HOST=0.0.0.0 \
    DISSENSUS_PORT=8000
USER dissensus
WORKDIR /data
VOLUME /data
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD ["python", "-c", "import os, urllib.request; urllib.request.urlopen('http://127.0.0.1:' + os.environ['DISSENSUS_PORT'] + '/readyz', timeout=4)"]
ENTRYPOINT ["dissensus"]
CMD ["serve"]
