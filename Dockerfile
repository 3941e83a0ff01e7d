FROM node:20-slim AS build
WORKDIR /rigel
COPY package.json package-lock.json .npmrc tsconfig.json ./
RUN npm ci --ignore-scripts
COPY . .
RUN npm run build && npm prune --omit=dev --ignore-scripts

FROM node:20-slim
WORKDIR /rigel
COPY --from=build /rigel/package.json ./
COPY --from=build /rigel/node_modules ./node_modules
COPY --from=build /rigel/dist ./dist
RUN mkdir /data && chown node:node /data
USER node
VOLUME /data
EXPOSE 1026
# The broker answers SIGTERM itself; node is process 1 and hands signals on.
ENTRYPOINT ["node", "dist/program/src/main.js", "-dbPath", "/data"]
