"""compare.py INFO GROUPS TRUTH: the estimates of a sampled recording against what the program said. GROUPS is the JSON of
'memtui groups', TRUTH has lines of NAME BLOCKS BYTES LIVE_BLOCKS LIVE_BYTES. Each truth lies within six standard errors of its
estimate, which is marked with its error; what is known for sure is exact."""
import json
import math
import sys

info, groups = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
# one sample of so many allocations, or in so many bytes
every, interval = info.get('sample_every', 0), info.get('sample_bytes', 0)
bad = []


def number(name, what, truth, estimate, error, samples):
    if error is None and samples >= 10 and 'leaked' not in what:
        bad.append(f'{name}: {what} has no error, of {samples} samples')
    if error is not None and samples < 10 and error > 0:
        bad.append(f'{name}: {what} has an error, of {samples} samples alone')
    # without an error: one sample more or less, and six errors of the number of samples
    wide = 6 * error if error else 0 if error == 0 else 1e30
    if abs(truth - estimate) > wide:
        bad.append(f'{name}: {what} is {truth}, estimated {estimate} with an error of {error}')


for line in open(sys.argv[3]):
    if line.startswith('#'):
        continue
    name, *truth = line.split()
    truth = [int(t) for t in truth]
    all_of = [g['all'] for g in groups if any(f['function'].startswith(name) for f in g['backtrace'])]
    if not all_of:
        if truth[0] > 30 * every if every else truth[1] > 30 * interval:
            bad.append(f'{name}: no group')
        continue
    for what, want in zip(('allocated_count', 'size', 'leaked_count', 'leaked_size'), truth):
        samples = sum(g['samples'] for g in all_of)
        few = any(what + '_stderr' not in g for g in all_of)
        error = None if few else math.sqrt(sum(g[what + '_stderr'] ** 2 for g in all_of))
        estimate = sum(g[what] for g in all_of)
        if want == 0:
            if estimate:
                bad.append(f'{name}: {what} is {estimate}, not 0')
            continue
        number(name, what, want, estimate, error, samples)
    sure = not every and truth[1] == truth[0] * 10485760 and 10485760 > 5 * interval
    if sure and [all_of[0][w] for w in ('allocated_count', 'size')] != truth[:2]:
        bad.append(f'{name}: {all_of[0]}')
if info['lost_events'] or info['unknown_frees'] or info['implied_frees']:
    bad.append(f"lost {info['lost_events']}, unknown {info['unknown_frees']}, implied {info['implied_frees']}")
if info['frees'] > info['allocations']:
    bad.append('more frees than allocations')
print('; '.join(bad))
