// Tries what a confined command may and may not do and prints "name errno" per attempt, 0 where it succeeded.
// Arguments: workspace, second writable directory, a directory outside, pid of a process outside, a secret file.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static char buffers[8][4096];
static int at;
static char *path(const char *dir, const char *name) {
  char *text = buffers[at++ % 8];
  snprintf(text, 4096, "%s/%s", dir, name);
  return text;
}
static void say(const char *name, long result) {
  printf("%s %d\n", name, result < 0 ? errno : 0);
  errno = 0;
}
static long opened(const char *file, int flags) {
  int fd = open(file, flags, 0600);
  if (fd < 0) return -1;
  close(fd);
  return 0;
}
static long readable(const char *file) {
  char byte;
  int fd = open(file, O_RDONLY);
  if (fd < 0) return -1;
  long got = read(fd, &byte, 1);
  close(fd);
  return got < 0 ? -1 : 0;
}
static long socketed(int domain, int type, int protocol) {
  int fd = socket(domain, type, protocol);
  if (fd < 0) return -1;
  close(fd);
  return 0;
}
static long reaped(pid_t child, int wanted) {
  int status;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status) ? WTERMSIG(status) == wanted : WEXITSTATUS(status) == 0) return 0;
  errno = WIFEXITED(status) ? WEXITSTATUS(status) : ECANCELED;
  return -1;
}

int main(int argc, char **argv) {
  if (argc < 6) return 2;
  const char *ws = argv[1], *tmp = argv[2], *out = argv[3], *secret = argv[5];
  pid_t other = atoi(argv[4]);
  char proc[64], name[128];
  snprintf(proc, sizeof proc, "/proc/%d", other);
  setvbuf(stdout, NULL, _IOLBF, 0);

  say("inside.write", opened(path(ws, "a"), O_WRONLY | O_CREAT));
  say("inside.mkdir", mkdir(path(ws, "d"), 0700));
  say("inside.rename", rename(path(ws, "a"), path(ws, "d/b")));
  say("inside.link", link(path(ws, "d/b"), path(ws, "d/c")));
  say("inside.symlink", symlink(secret, path(ws, "to-secret")));
  say("inside.fifo", mkfifo(path(ws, "f"), 0600));
  say("inside.truncate", truncate(path(ws, "d/b"), 0));
  say("inside.unlink", unlink(path(ws, "d/c")));
  say("inside.move", rename(path(ws, "d/b"), path(tmp, "b")));
  say("inside.null", opened("/dev/null", O_WRONLY | O_TRUNC));
  int pair[2];
  say("inside.streampair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
  int pty = open("/dev/ptmx", O_RDWR | O_NOCTTY);
  say("inside.ptmx", pty);
  say("inside.ptmx.ioctl", grantpt(pty) | unlockpt(pty));
  say("inside.pts", opened(ptsname(pty), O_RDWR | O_NOCTTY));
  pid_t child = fork();
  if (child == 0) { pause(); _exit(1); }
  say("inside.kill", kill(child, SIGTERM) < 0 ? -1 : reaped(child, SIGTERM));
  child = fork();
  if (child == 0) { ptrace(PTRACE_TRACEME, 0, 0, 0); raise(SIGSTOP); _exit(0); }
  int status;
  waitpid(child, &status, 0);
  say("inside.trace", WIFSTOPPED(status) && ptrace(PTRACE_CONT, child, 0, 0) == 0 ? reaped(child, 0) : -1);
  say("inside.netlink", socketed(AF_NETLINK, SOCK_RAW, 0));

  say("outside.stat", access(out, F_OK));
  say("outside.list", opened(out, O_RDONLY | O_DIRECTORY));
  say("outside.chmod", chmod(path(out, "file"), 0644));
  say("outside.read", readable(path(out, "file")));

  say("write.create", opened(path(out, "new"), O_WRONLY | O_CREAT));
  say("write.append", opened(path(out, "file"), O_WRONLY | O_APPEND));
  say("write.truncate", truncate(path(out, "file"), 0));
  say("write.readonly-truncate", opened(path(out, "file"), O_RDONLY | O_TRUNC));
  say("write.unlink", unlink(path(out, "file")));
  say("write.mkdir", mkdir(path(out, "dir"), 0700));
  say("write.rename-out", rename(path(tmp, "b"), path(out, "b")));
  say("write.rename-in", rename(path(out, "file"), path(ws, "file")));
  say("write.symlink", symlink("x", path(out, "link")));
  say("write.shm", opened("/dev/shm/shiro-attempt", O_WRONLY | O_CREAT));
  unlink("/dev/shm/shiro-attempt");
  int segment = shmget(IPC_PRIVATE, 4096, 0600);
  say("write.system-v", segment);
  if (segment >= 0) shmctl(segment, IPC_RMID, NULL);
  say("write.device", mknod(path(ws, "device"), S_IFCHR | 0600, makedev(1, 3)));
  snprintf(name, sizeof name, "%s/oom_score_adj", proc);
  say("write.proc", opened(name, O_WRONLY));

  say("secret.read", readable(secret));
  say("secret.symlink", readable(path(ws, "to-secret")));
  say("secret.dots", readable(path(out, "secret/../../out/secret/key")));
  say("secret.root", readable(path("/proc/self/root", secret)));
  say("secret.hardlink", link(secret, path(ws, "hard")));
  say("secret.truncate", opened(secret, O_RDONLY | O_TRUNC));

  const char *files[] = {"environ", "maps", "mem"};
  for (int i = 0; i < 3; i++) {
    snprintf(name, sizeof name, "process.%s", files[i]);
    say(name, readable(path(proc, files[i])));
  }
  char link[64];
  say("process.cwd", readlink(path(proc, "cwd"), link, sizeof link));
  say("process.root", opened(path(proc, "root/etc/hostname"), O_RDONLY));
  say("process.fd", opened(path(proc, "fd"), O_RDONLY | O_DIRECTORY) < 0 ? -1 : readlink(path(proc, "fd/0"), link, sizeof link));
  say("process.attach", ptrace(PTRACE_ATTACH, other, 0, 0));
  struct iovec local = {link, 1}, remote = {(void *)main, 1};
  say("process.vm", process_vm_readv(other, &local, 1, &remote, 1, 0));
  int pidfd = syscall(SYS_pidfd_open, other, 0);
  say("process.getfd", pidfd < 0 ? -1 : syscall(438, pidfd, 0, 0));
  say("process.signal0", kill(other, 0));
  say("process.stop", kill(other, SIGSTOP));
  say("process.group", kill(-other, SIGSTOP));
  say("process.thread", syscall(SYS_tkill, other, SIGSTOP));
  struct rlimit limit = {0, 0};
  say("process.limit", prlimit(other, RLIMIT_NOFILE, &limit, NULL));

  say("net.tcp4", socketed(AF_INET, SOCK_STREAM, 0));
  say("net.tcp6", socketed(AF_INET6, SOCK_STREAM, 0));
  say("net.mptcp", socketed(AF_INET, SOCK_STREAM, 262));
  say("net.udp", socketed(AF_INET, SOCK_DGRAM, 0));
  say("net.raw", socketed(AF_INET, SOCK_RAW, IPPROTO_ICMP));
  say("net.packet", socketed(17, SOCK_RAW, 0));
  say("net.vsock", socketed(40, SOCK_STREAM, 0));
  say("net.unix", socketed(AF_UNIX, SOCK_STREAM, 0));
  say("net.unix-datagram", socketed(AF_UNIX, SOCK_DGRAM, 0));
  say("net.datagram-pair", socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
  // The kernel makes a datagram pair of it, which could send to any socket file.
  say("net.raw-pair", socketpair(AF_UNIX, SOCK_RAW, 0, pair));
  char ring[256] = {0};
  say("net.io-uring", syscall(425, 1, ring));

  say("system.tiocsti", ioctl(pty, TIOCSTI, "x"));
  say("system.tioclinux", ioctl(pty, TIOCLINUX, "x"));
  say("system.keyctl", syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0));
  say("system.mount", mount("none", path(ws, "d"), "tmpfs", 0, ""));
  snprintf(name, sizeof name, "%s/ns/mnt", proc);
  int ns = open(name, O_RDONLY);
  say("system.setns", ns < 0 ? -1 : setns(ns, 0));
  child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWUSER) < 0) _exit(errno);
    _exit(opened("/proc/self/uid_map", O_WRONLY) < 0 ? errno : 0);
  }
  say("system.userns", reaped(child, 0));
  child = fork();
  if (child == 0) {
    setsid();
    if (fork() == 0) _exit(opened(path(out, "grandchild"), O_WRONLY | O_CREAT) < 0 ? errno : 0);
    wait(&status);
    _exit(WEXITSTATUS(status));
  }
  say("system.grandchild", reaped(child, 0));
  return 0;
}
