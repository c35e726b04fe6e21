# SPDX-License-Identifier: MIT
# nginx with zklock and the example of examples/nginx, and a ZooKeeper for it: two targets. compose.yml runs both.
#
#   docker build --target nginx -t zklock .
#
# Tried: `make image` builds both with buildah on a debootstrap of Debian 12 as BASE, runs them and buys something.
# No registry was reachable for that: the default BASE was not tried, nor were Docker and other releases of Debian.
ARG BASE=debian:12

# The packages of debian/.
FROM ${BASE} AS packages
RUN apt-get update && apt-get install -y --no-install-recommends make
COPY . /usr/src/zklock
RUN make -C /usr/src/zklock deb

# One server on 127.0.0.1, for a trial: its data goes with its container. Debian's package `zookeeper` would bring a
# desktop's libraries along.
FROM ${BASE} AS zookeeper
RUN apt-get update && apt-get install -y --no-install-recommends adduser default-jre-headless libzookeeper-java \
    && rm -rf /var/lib/apt/lists/*
RUN adduser --system --group --home /var/lib/zookeeper zookeeper \
    && printf '%s\n' tickTime=2000 dataDir=/var/lib/zookeeper clientPort=2181 clientPortAddress=127.0.0.1 \
        admin.enableServer=false >/etc/zoo.cfg
USER zookeeper
CMD ["java", "-cp", "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar", \
    "org.apache.zookeeper.server.quorum.QuorumPeerMain", "/etc/zoo.cfg"]

FROM ${BASE} AS nginx
COPY --from=packages /usr/src/zklock/build/deb /tmp/deb
RUN printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d && chmod 755 /usr/sbin/policy-rc.d \
    && apt-get update && apt-get install -y --no-install-recommends nginx-light libnginx-mod-http-lua \
        /tmp/deb/lua-zklock_*.deb /tmp/deb/zklock_*.deb \
    && rm -rf /tmp/deb /var/lib/apt/lists/*
COPY examples/nginx /srv/zklock
RUN mkdir /srv/zklock/shop && chown www-data: /srv/zklock/shop && chmod 700 /srv/zklock/shop
WORKDIR /srv/zklock
USER www-data
ENV ZOOKEEPER=127.0.0.1:2181
CMD ["nginx", "-p", "/srv/zklock", "-e", "stderr", "-c", "nginx.conf"]
