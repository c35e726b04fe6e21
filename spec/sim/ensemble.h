/* SPDX-License-Identifier: MIT */
/* ensemble: three ZooKeeper servers: a leader and its followers, who apply what is committed in
 * their own time; elections; sessions, whose end is the leader's to say; the clients' sockets, and
 * who watches what where. docs/promises.md tells what of this validity rests on. */
#ifndef ENSEMBLE_H
#define ENSEMBLE_H

#include "tree.h"

enum { SERVERS = 3 };

/* ---- sessions ---- */

int64_t sim_session_id(const sim_session *session);
bool sim_session_is_open(const sim_session *session);
/* Bytes of the paths of its nodes. */
size_t sim_session_bytes(const sim_session *session);
void sim_session_count_node(sim_session *session, ssize_t bytes);
/* NULL: there never was one. */
sim_session *sim_session_find(int64_t id);
/* Of somebody who has no socket, and lives until it is closed: a stranger. */
sim_session *sim_session_stranger(void);
/* Of whose client; NULL: a stranger's. */
void *sim_session_owner(const sim_session *session);
size_t sim_sessions_open(void);
/* Called when the end of a session is committed. */
extern void (*sim_session_ended)(const sim_session *session);

/* ---- a client's side of a connection ---- */

/* Its client hears a message, which is the ensemble's. SAY_END: the server has hung up. */
typedef void sim_hear(void *client, const sim_message *message);

/* NULL: refused. The server hears of it with the first message. */
sim_socket *sim_connect(int server, void *client, sim_hear *hear,
                        zkl_nanos (*busy_until)(void *client));
/* From now on each message on it takes so long, each way, at least. */
void sim_socket_distance(sim_socket *socket, zkl_nanos distance);
void sim_send_connect(sim_socket *socket, int64_t session, zkl_nanos timeout, int64_t zxid,
                      void *owner);
void sim_send(sim_socket *socket, sim_request *request);
/* The client hangs up. Messages it has sent may arrive or not, unless `whole`: then they do. */
void sim_hang_up(sim_socket *socket, bool whole);

/* ---- what happens to servers ---- */

void sim_ensemble_begin(zkl_nanos tick);
void sim_ensemble_end(void);

/* A process: its machine closes the connections that it had. With its machine they end when it has
 * started again, or when the other side gives up. */
void sim_server_crash(int server, bool machine);
void sim_server_restart(int server);
void sim_server_stop(int server, zkl_nanos until);
void sim_server_isolate(int server, zkl_nanos until);
/* Messages from the leader to that follower, or back, are slow. */
void sim_server_lag(int server, zkl_nanos until, bool back);
/* The follower carries commits out only then; it takes sessions meanwhile. */
void sim_server_lag_behind(int server, zkl_nanos until);
void sim_server_hurry(int server); /* no more */
/* All sockets at that server, or (owner) of that client, are cut, or slow one way. */
void sim_sockets_cut(int server, const void *owner, unsigned one_in);
void sim_sockets_slow(int server, const void *owner, zkl_nanos until, bool to_server);
void sim_throttle(unsigned one_in); /* 0: nothing is */
/* Of the creates of nodes that are not ephemeral, as directories are, all are. */
void sim_throttle_directories(bool all);
/* Called when a request of that session's client is refused for now. */
extern void (*sim_throttled)(const sim_session *session);
void sim_refuse_credentials(unsigned one_in); /* likewise */
/* Servers go on with a connection whose session has ended: they answer pings and what is read, and
 * refuse to write; likewise. */
/* True: a client that comes back gets another session, as ClickHouse Keeper does it, and operations
 * that Keeper does not know end the process. */
extern bool sim_is_keeper;
void sim_forget_to_hang_up(unsigned one_in);
/* All faults end. */
void sim_ensemble_heal(void);
bool sim_ensemble_serves(void);
int sim_leader(void); /* -1: none */

/* The clocks of the servers go wrong by so much at most; without it by nothing. */
void sim_ensemble_set_clocks(zkl_nanos spread);
/* The clock of the leader, or of the latest one: milliseconds. */
int64_t sim_wall(void);

/* Committed at once, whoever leads. */
void sim_ensemble_write(sim_request *request);
/* An operator has the leader end it: nobody's validity covers that. */
void sim_session_expire(sim_session *session);
bool sim_session_is_forced(const sim_session *session);
zkl_nanos sim_session_forced_at(const sim_session *session);
/* A session of some client, open or not; NULL: there is none. */
sim_session *sim_session_any(void);

size_t sim_watches(void);
size_t sim_sockets(void);
extern size_t sim_packet_most;

/* ---- for the tree ---- */

void sim_session_opened(sim_session *session);
void sim_session_closed(sim_session *session);
int64_t sim_oldest_node_watch(const fake_servers *servers);

#endif
