"""compare.py EXACT GATED [peak]: two recordings of a program, as 'memtui info --format json' tells them. EXACT is [those of the
blocks that a filter chooses, all]; GATED recorded no others. What was left out is the difference."""
import json
import sys

(chosen, whole), gated = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
bad = []


def same(what, is_, should):
    if is_ != should:
        bad.append(f'{what} is {is_}, not {should}')


for name in ('allocated_count', 'allocated_bytes', 'leaked_count', 'leaked_bytes') + tuple(sys.argv[3:]):
    same(name, gated[name], chosen[name])
same('left_out', gated['left_out'], whole['allocated_count'] - chosen['allocated_count'])
same('left_out_bytes', gated['left_out_bytes'], whole['allocated_bytes'] - chosen['allocated_bytes'])
for name in ('unknown_frees', 'implied_frees', 'unrecorded_frees', 'inherited_frees'):
    same(name, gated[name], 0)
if not gated['left_out'] or not chosen['allocated_count']:
    bad.append('nothing was compared')
print('; '.join(bad))
