-- SPDX-License-Identifier: MIT
--- Where the jars of the ZooKeeper server are that everything is tested with: Debian's, or those of another server.

-- The netty jars are for servers with TLS: Debian's zookeeper.jar names only some of those that it needs.
local DEBIAN = "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar"
  .. ":/usr/share/java/netty-codec.jar:/usr/share/java/netty-resolver.jar"

return os.getenv "ZOOKEEPER_CLASSPATH" or DEBIAN
