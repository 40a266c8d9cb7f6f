/* Reads tuner files with the C library, as their readers do, and prints what it takes each rule for.
 *
 * readers <reader> <file>: reader 0 is NVIDIA's example, 1 DN-TUNER, 2 RCCL's built-in. Compared with the Rust emulation by
 * tests/c_readers/main.rs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(words) ((int)(sizeof(words) / sizeof(*(words))))

static const char *collectives[] = {"broadcast", "reduce", "allgather", "reducescatter", "allreduce"};
static const char *algorithms[] = {"tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree", "pat"};
static const char *protocols[] = {"ll", "ll128", "simple"};

enum { EXAMPLE, DN_TUNER, RCCL };
enum { UNKNOWN = -2 };

static int find(const char **words, int count, const char *text) {
  for (int i = 0; i < count; i++)
    if (strcmp(words[i], text) == 0) return i;
  return UNKNOWN;
}

/* The line's fields, trimmed; -1 where a strict reader gives up. */
static int cut(char *line, char **fields, int strict) {
  int count = 0;
  char *rest = NULL;
  for (char *field = strtok_r(line, ",", &rest); field && count < 10; field = strtok_r(NULL, ",", &rest)) {
    while (*field == ' ' || *field == '\t') field++;
    for (char *end = field + strlen(field); end > field + 1 && (end[-1] == ' ' || end[-1] == '\t'); end--) end[-1] = '\0';
    if (strict && *field == '\0') return -1;
    fields[count++] = field;
  }
  return count;
}

int main(int argc, char **argv) {
  if (argc != 3) return 2;
  int reader = atoi(argv[1]);
  FILE *file = fopen(argv[2], "r");
  if (!file) return 1;
  char line[256];
  while (fgets(line, sizeof(line), file)) {
    char *start = line;
    if (reader == RCCL) start += strspn(line, " \t");
    if (*start == '#' || *start == '\n' || (reader == RCCL && *start == '\0')) continue;
    line[strcspn(line, reader == RCCL ? "\r\n" : "\n")] = '\0';

    char *fields[10];
    int count = cut(line, fields, reader == RCCL);
    if (count < 8) continue;
    int collective = find(collectives, COUNT(collectives), fields[0]);
    int algorithm = find(algorithms, COUNT(algorithms), fields[3]);
    int protocol = find(protocols, COUNT(protocols), fields[4]);
    if (reader == RCCL && (collective == UNKNOWN || algorithm == UNKNOWN || protocol == UNKNOWN)) continue;
    if (collective == UNKNOWN) collective = 4;
    if (reader == DN_TUNER && strcmp(fields[3], "-1") == 0) algorithm = -1;
    if (reader == DN_TUNER && strcmp(fields[4], "-1") == 0) protocol = -1;
    if (algorithm == UNKNOWN) algorithm = 1;
    if (protocol == UNKNOWN) protocol = 2;
    printf("%d %zu %zu %d %d %d %d %d %d %d\n", collective, (size_t)strtoull(fields[1], NULL, 10),
           (size_t)strtoull(fields[2], NULL, 10), algorithm, protocol, atoi(fields[5]), atoi(fields[6]),
           atoi(fields[7]), count > 8 ? atoi(fields[8]) : -1, count > 9 ? atoi(fields[9]) : -1);
  }
  fclose(file);
  return 0;
}
