# syntax=docker/dockerfile:1
# `docker build .` makes the image of the service, `docker build --target sandbox .` that of the stand-in for Apple and Google.
# `docker build --target symbols --output symbols .` writes what belongs to the first and is not in it: the debug symbols, and
# the versions of the Swift packages in it, in the form of dependencies.lock.

# That of Sources/Version, for the label.
ARG VERSION=0.1.0

FROM swift:6.3-bookworm AS build
RUN apt-get update \
    && apt-get install -y --no-install-recommends libssl-dev libcurl4-openssl-dev libpq-dev pkg-config python3-minimal \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /src
# The dependencies, at the versions of Package.resolved if there is one. The later steps don't use the network.
COPY Package.swift Package.resolve[d] ./
RUN swift package resolve
COPY Scripts/functions.gz Scripts/icu-data Scripts/release-options Scripts/
COPY Migrations Migrations
COPY Sources Sources
# Not built here, but the manifest has targets in both, and SwiftPM requires their folders.
COPY Benchmarks Benchmarks
COPY Tests Tests
# There is no repository here to find the commit in: `docker build --build-arg COMMIT=$(git rev-parse HEAD) .`
ARG COMMIT=
RUN --network=none [ -z "$COMMIT" ] || echo "$COMMIT" >Sources/Version/revision
RUN --network=none Scripts/release-options /tmp/icu.o >/tmp/options \
    && swift build $(cat /tmp/options) --skip-update --product countersign \
    && install -D -t /out "$(swift build -c release --show-bin-path)/countersign"
RUN --network=none mkdir /symbols \
    && objcopy --only-keep-debug --compress-debug-sections /out/countersign /symbols/countersign.debug \
    && strip /out/countersign \
    && objcopy --add-gnu-debuglink=/symbols/countersign.debug /out/countersign \
    && sed -nE 's/^ *"(identity|version)" : "(.*)",?$/\2/p' Package.resolved | paste -d ' ' - - >/symbols/dependencies.lock

FROM scratch AS symbols
COPY --from=build /symbols /

FROM build AS build-sandbox
RUN --network=none swift build $(cat /tmp/options) --skip-update --product countersign-sandbox \
    && install -D -t /out "$(swift build -c release --show-bin-path)/countersign-sandbox" \
    && strip /out/countersign-sandbox

# The C libraries are the distribution's: rebuild the image to get their fixes.
FROM debian:bookworm-slim AS runtime
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates libargon2-1 libcurl4 libpq5 libssl3 libstdc++6 \
    && rm -rf /var/lib/apt/lists/* /var/cache/ldconfig/aux-cache /var/log/apt /var/log/*.log \
    && useradd --system --no-log-init --uid 10001 --user-group --no-create-home --shell /usr/sbin/nologin countersign
USER 10001:10001

# Every client that reaches its port can sign in as any person: for development only.
FROM runtime AS sandbox
COPY --from=build-sandbox /out/countersign-sandbox /usr/local/bin/
EXPOSE 8090
HEALTHCHECK --interval=10s --timeout=3s --start-period=5s CMD ["countersign-sandbox", "--health"]
ENTRYPOINT ["countersign-sandbox"]
CMD ["--host", "0.0.0.0", "--allow-remote"]

# A mail server that prints what it gets. For development, beside the sandbox.
FROM debian:bookworm-slim AS mailbox
RUN apt-get update \
    && apt-get install -y --no-install-recommends python3-aiosmtpd \
    && rm -rf /var/lib/apt/lists/*
ENV PYTHONUNBUFFERED=1
USER 65534:65534
EXPOSE 8025
ENTRYPOINT ["python3", "-m", "aiosmtpd", "--nosetuid", "--listen", "0.0.0.0:8025"]
CMD ["--class", "aiosmtpd.handlers.Debugging", "stdout"]

# Secret files are mounted with mode 0600 and the owner 10001. The private listener stays on the container's loopback. The health
# check reads the configuration that the service reads: name a file of yours by COUNTERSIGN_CONFIG, not by --config.
FROM runtime AS countersign
ARG VERSION COMMIT=
LABEL org.opencontainers.image.title=Countersign \
    org.opencontainers.image.description="Sign-in with Apple and Google for teams with mobile apps" \
    org.opencontainers.image.version=$VERSION \
    org.opencontainers.image.revision=$COMMIT \
    org.opencontainers.image.licenses=Apache-2.0
COPY --from=build /out/countersign /usr/local/bin/
# Huge pages for the heap, where the host offers them on request (docs/performance.md).
ENV COUNTERSIGN_SERVER_HOST=0.0.0.0 GLIBC_TUNABLES=glibc.malloc.hugetlb=1
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=3s --start-period=10s CMD ["countersign", "health", "--live"]
ENTRYPOINT ["countersign"]
CMD ["serve"]
