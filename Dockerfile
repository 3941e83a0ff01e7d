# syntax=docker/dockerfile:1
# docker build --build-arg COMMIT="$(git rev-parse HEAD)" -t rigel .

# One base for both stages: the binaries of the libraries are those of the system that they run on.
ARG NODE_IMAGE=node:26-slim

FROM ${NODE_IMAGE} AS build
WORKDIR /rigel
COPY package.json package-lock.json .npmrc ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY tsconfig.json LICENSE ./
COPY scripts scripts
COPY docs/openapi docs/openapi
COPY src src
COPY workers workers
COPY bench bench
ARG COMMIT=
RUN RIGEL_COMMIT="$COMMIT" npm run build && mkdir data
# What the broker was made with is not what it runs on.
RUN npm prune --omit=dev --ignore-scripts --no-audit --no-fund && \
    rm -r dist/tsconfig.tsbuildinfo dist/page-types dist/src/api/console/page && find dist node_modules -name '*.map' -delete

FROM ${NODE_IMAGE}
ARG COMMIT=
LABEL org.opencontainers.image.title="Rigel" \
      org.opencontainers.image.description="A durable NGSI context broker" \
      org.opencontainers.image.version="0.1.0" \
      org.opencontainers.image.revision="${COMMIT}" \
      org.opencontainers.image.licenses="Apache-2.0"
WORKDIR /rigel
COPY --from=build /rigel/package.json /rigel/LICENSE ./
COPY --from=build /rigel/node_modules node_modules
COPY --from=build /rigel/dist dist
# The only place that the broker writes to, and the only one that its user may.
COPY --from=build --chown=1000:1000 /rigel/data /data
# docker stop waits for ten seconds: an orderly end takes less. With a longer --stop-timeout it may take longer, too.
ENV NODE_ENV=production \
    RIGEL_DB_PATH=/data \
    RIGEL_SHUTDOWN_TIMEOUT=8
USER 1000:1000
VOLUME /data
EXPOSE 1026
STOPSIGNAL SIGTERM
# A start may have a log to apply: meanwhile the container is starting, not ill.
HEALTHCHECK --interval=10s --timeout=5s --start-period=10m --start-interval=1s --retries=3 \
  CMD ["node", "/rigel/dist/src/runtime/commands/health-program.js"]
# Node is process 1 and the broker answers signals itself: a shell or an init would only stand between.
# Flags follow the name of the image. Orion's image starts with -multiservice, which keeps the tenants of Fiware-Service apart;
# this one does not: docker run rigel -multiservice.
ENTRYPOINT ["node", "/rigel/dist/program/src/main.cjs"]
