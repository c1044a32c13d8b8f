# The server as an image: `docker build -t holdfast .`
FROM node:22-slim AS page
WORKDIR /source/ui
COPY ui/package.json ui/package-lock.json ui/.npmrc ./
RUN npm install --no-save
COPY packages/holdfast/pyproject.toml ../packages/holdfast/
COPY ui ./
RUN npm run build

FROM python:3.13-slim AS build
WORKDIR /source
RUN pip install --no-cache-dir uv
COPY pyproject.toml uv.lock README.md LICENSE ./
COPY packages packages
COPY --from=page /source/packages/holdfast/src/holdfast/web/static packages/holdfast/src/holdfast/web/static
# As locked, and without what only development needs. Compiled here: who runs it may not write beside
# the modules, and would compile them at every start.
RUN UV_PROJECT_ENVIRONMENT=/opt/holdfast UV_COMPILE_BYTECODE=1 uv sync --locked --package holdfast --no-dev --no-editable --extra otlp

FROM python:3.13-slim
# The number, not the name: Kubernetes can then see that it is not root.
RUN useradd --uid 10001 --no-create-home holdfast
COPY --from=build /opt/holdfast /opt/holdfast
ENV PATH=/opt/holdfast/bin:$PATH \
    HOLDFAST_HOST=0.0.0.0
USER 10001
EXPOSE 8080
ENTRYPOINT ["holdfast"]
CMD ["serve"]
