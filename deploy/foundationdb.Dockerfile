# SPDX-License-Identifier: Apache-2.0
# Images of the two programs with the engine for FoundationDB clusters. From the root of the repository:
#   docker build -f deploy/foundationdb.Dockerfile -t idbuilder:foundationdb .
#   docker build -f deploy/foundationdb.Dockerfile --target=kazahana -t kazahana:foundationdb .
# The client library comes from FoundationDB's official image. Mount the cluster file in a folder that the program may write to.
FROM foundationdb/foundationdb:7.3.79 AS client

FROM golang:1.26-bookworm AS build
COPY --from=client /usr/lib/libfdb_c.so /usr/lib/
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=1 CPATH=/src/internal/fdbheader go build -trimpath -ldflags='-s -w' -tags foundationdb -o /out/ ./cmd/kazahana ./cmd/idbuilder && mkdir /data

FROM debian:bookworm-slim AS base
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates && rm -rf /var/lib/apt/lists/*
COPY --from=client /usr/lib/libfdb_c.so /usr/lib/
COPY --from=build --chown=65532:65532 /data /data
USER 65532:65532
WORKDIR /data
VOLUME /data

FROM base AS kazahana
COPY --from=build /out/kazahana /usr/local/bin/kazahana
ENTRYPOINT ["kazahana"]

FROM base AS idbuilder
COPY --from=build /out/idbuilder /usr/local/bin/idbuilder
ENV IDBUILDER__SERVER__HOST=0.0.0.0 IDBUILDER__STORAGE__BACKEND=foundationdb
EXPOSE 8080 9091
ENTRYPOINT ["idbuilder"]
