# Fathom's server: page, API, OpenAI-compatible interface and MCP at port 8000.
#
#   docker build -t fathom .
#   docker run --rm -v fathom:/data fathom keys add me --scope read --scope ingest
#   docker run -v fathom:/data -p 127.0.0.1:8000:8000 --read-only --tmpfs /tmp --cap-drop ALL fathom
#
# It runs as nobody in particular, and writes to /data and /tmp alone. See docs/deployment.md.
FROM python:3.13-slim-trixie AS build
ENV PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_NO_CACHE_DIR=1
RUN python -m venv /opt/fathom
WORKDIR /src
COPY pyproject.toml README.md LICENSE NOTICE ./
COPY src src
RUN /opt/fathom/bin/pip install ".[serve,oidc,mcp,openai,anthropic,groq,ollama]"

FROM python:3.13-slim-trixie
RUN install --directory --owner=10001 --group=10001 --mode=0700 /data
COPY --from=build /opt/fathom /opt/fathom
ENV PATH=/opt/fathom/bin:$PATH HOME=/tmp PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1 \
    FATHOM_INDEX__DIRECTORY=/data/index
USER 10001:10001
WORKDIR /data
VOLUME /data
EXPOSE 8000
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=3 \
    CMD ["python", "-c", "from urllib.request import urlopen; urlopen('http://127.0.0.1:8000/healthz', timeout=4)"]
ENTRYPOINT ["fathom"]
CMD ["serve", "--host", "0.0.0.0", "--port", "8000"]
