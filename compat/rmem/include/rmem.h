/* The calls of the RMem service (Penna et al., RMem: An OS Service for Transparent Remote Memory Access in Lightweight
 * Manycores, section 3.1) over situ::rmem, for C and C++. A remote pointer is passed on and reckoned with like any
 * other, but read and written by these calls alone: to dereference it is a fault.
 *
 *   double* a = memalloc(n * sizeof(double));
 *   for (int i = 0; i < n; i++) {
 *     double tmp;
 *     memread(&tmp, &a[i], sizeof(double));
 *     tmp *= f;
 *     memwrite(&tmp, &a[i], sizeof(double));
 *   }
 *   memfree(a);
 *
 * The environment says where: SITU_RMEM_SERVER (a server's HOST:PORT or unix:/path, or that of the name server of
 * several), SITU_RMEM_KEYS (the file with the application's key, mode 0600), and SITU_RMEM_AS where it is not the first
 * one there. The first call connects.
 *
 * Calls return 0, or -1 (NULL) with errno; rmem_error() has the sentence. EACCES: the server refuses, or does not know
 * the key. EFAULT: no region that this process allocated or accepted. ENOMEM: the servers are full. EHOSTUNREACH: the
 * server cannot be reached or is silent; the call may have been done. EINVAL: an argument. EDESTADDRREQ: the
 * environment does not say where. EIO: the rest.
 *
 * Thread-safe; calls to one server go one after another. A forked child connects anew. cost: a round trip, some 20 us
 * on one host, and a look into a table. */
#ifndef SITU_COMPAT_RMEM_H
#define SITU_COMPAT_RMEM_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* So many bytes of remote memory, all zero. They stay until they are freed, also when this process ends. */
void* memalloc(size_t bytes);
/* Gives back what memalloc() returned; by any process of the application that allocated or accepted all of it. */
int memfree(void* remote);
/* Copies from remote to local memory; from local to remote. Within one region; zero bytes are a look at the pointer. */
int memread(void* local, const void* remote, size_t bytes);
int memwrite(const void* local, void* remote, size_t bytes);

/* What others may do with a part of a region; a set is made with |. */
enum rmem_rights { RMEM_READ = 1, RMEM_WRITE = 2 };
/* Bytes of what rmem_grant() writes, the zero at the end among them. */
#define RMEM_TEXT_BYTES 93
/* Access to bytes of a region, as a word for another process: a secret, so not for an argument or a log. */
int rmem_grant(const void* remote, size_t bytes, unsigned rights, char text[RMEM_TEXT_BYTES]);
/* The remote pointer that such a word is for; the same one in all processes. */
void* rmem_accept(const char* text);

/* Why the last call of this thread that failed has failed; valid until its next call. */
const char* rmem_error(void);

#ifdef __cplusplus
}
#endif

#endif
