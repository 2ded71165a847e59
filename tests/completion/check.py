"""check.py DIRECTORY: asks bash, zsh and fish for completions of memtui and compares them with what 'memtui help' prints."""
import os
import pty
import re
import shutil
import subprocess
import sys

here = sys.argv[1]
bad = False


def tell(name, why):
    global bad
    bad |= bool(why)
    print(f'not ok completion {name}: {why}' if why else f'ok completion {name}', flush=True)


def output(*command, **more):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=120, **more)


def section(text, title):
    """The entries of one section of a help text: {left: words on one line}."""
    entries, name = {}, None
    for line in text.split(f'\n{title}:\n', 1)[1].split('\n\n')[0].split('\n'):
        if re.match(r'  (?=\S)|      --', line):
            name, words = line[:24].strip(), line[24:]
            if len(line) > 24 and line[22:24] != '  ' or len(line) <= 24:
                name, words = line.strip(), ''
            entries[name] = words
        elif name:
            entries[name] = (entries[name] + ' ' + line.strip()).strip()
    return entries


def help_of(command):
    return output('memtui', 'help', command).stdout


def options(command):
    """{--name: words}, and the same with '=' where a value follows."""
    plain, equals = {}, {}
    text = help_of(command)
    found = section(text, 'Options')
    if "'memtui help filters'" in text:  # they stand there for all commands
        found.update(section(help_of('filters'), 'Options'))
    for left, words in found.items():
        name = re.search(r'--[a-z0-9-]+', left).group()
        plain[name] = words
        equals[name + ('=' if re.search(re.escape(name) + '=', left) else '')] = words
    return plain, equals


def words_of(text):
    """As bash splits a line: at blanks, '=' and ':'."""
    words = ['']
    for c in text:
        if c == ' ':
            words.append('')
        elif c in '=:':
            words += [c] if words[-1] else []
            words[-1] = c
            words.append('')
        else:
            words[-1] += c
    if words[-1] == '' and len(words) > 1 and words[-2] in ('=', ':'):
        words.pop()
    return words


def entries(text):
    lines = [line.rstrip('\n') for line in text.splitlines()]
    return {line.split('\t')[0].strip().rstrip('/'): line.split('\t')[1].strip() if '\t' in line else '' for line in lines if line}


class Bash:
    name = 'bash'
    attached = ''  # what of '--sort=' stands before an offered value

    def ask(self, line):
        run = output('bash', f'{here}/bash.sh', './memtui.bash', *words_of(line))
        offered = entries(run.stdout)
        if 'FILES' in offered:
            del offered['FILES']
            offered.update({name: '' for name in files() if name.startswith(words_of(line)[-1].strip('='))})
        return offered, run.stderr


class Zsh:
    name = 'zsh'
    attached = '--sort='

    def ask(self, line):
        run = output('zsh', '-f', './zsh/capture.zsh', os.path.abspath('zsh'), line)
        offered = entries(run.stdout)
        if not line.split(' ')[-1].startswith('-') and '--help' in offered:
            offered = {k: v for k, v in offered.items() if k[0] != '-'}  # what zsh has to offer where no operand can stand
        return offered, run.stderr


class Fish:
    name = 'fish'
    attached = '--sort='

    def ask(self, line):
        run = output('fish', '--no-config', '-c', f'complete -c known -l alpha -d first; source memtui.fish; complete -C "{line}"')
        return entries(run.stdout), run.stderr


def files():
    return [name for name in sorted(os.listdir('.')) if name[0] != '.']


def compare(shell, what, line, expected, words=True):
    offered, errors = shell.ask(line)
    why = errors.strip()
    if words:
        missing = {k: v for k, v in expected.items() if offered.get(k) != v}
    else:
        missing = [k for k in expected if k not in offered]
    more = [k for k in offered if k not in expected]
    if missing:
        first = next(iter(missing))
        why += f" '{line}' does not offer {len(missing)} of {len(expected)}, as {first}"
        why += f" ({expected[first]}), but with '{offered[first]}'" if first in offered else ''
    if more:
        why += f" '{line}' also offers {more}"
    tell(f'{shell.name}: {what}', why.strip())


def check(shell):
    commands = section(output('memtui', 'help').stdout, 'Commands')
    general = {'--help': 'show the list of all commands', '--version': 'print the version'}
    compare(shell, 'every command', 'memtui ', commands | (general if shell.name == 'bash' else {}))
    compare(shell, 'a command begun', 'memtui re', {k: v for k, v in commands.items() if k.startswith('re')})
    compare(shell, 'memtui itself', 'memtui --', general)
    for command in 'record', 'groups', 'help', 'export':
        plain, equals = options(command)
        if shell.name == 'fish' and '--report' in plain:
            plain['--report='] = plain['--report']  # its value can be left out
        compare(shell, f'every option of {command}', f'memtui {command} --', equals if shell.name == 'bash' else plain)
    metrics = section(help_of('groups' if '\nMetrics:\n' in help_of('groups') else 'metrics'), 'Metrics')
    compare(shell, 'metrics', 'memtui groups --sort ', metrics)
    compare(shell, 'metrics behind =', 'memtui groups --sort=', {shell.attached + k: v for k, v in metrics.items()})
    compare(shell, 'metrics behind a letter', 'memtui groups -s ', metrics)
    compare(shell, 'kinds of export', 'memtui export --as ', section(help_of('export'), 'Formats'))
    compare(shell, 'a value that is another command\'s', 'memtui suppress --as ', {'valgrind': '', 'lsan': ''}, False)
    for command, values in ('export', 'leaked_size at_peak_size'), ('timeline', 'bytes count'):
        offered, errors = shell.ask(f'memtui {command} --metric ')
        lacks = set(values.split()) - set(offered) or (command == 'timeline' and set(offered) - set(values.split()))
        tell(f'{shell.name}: metrics of {command}', errors or (f'{lacks} of {list(offered)}' if lacks else ''))
    compare(shell, 'formats', 'memtui tree --format ', {'text': '', 'json': '', 'csv': ''}, False)
    compare(shell, 'values of a filter', 'memtui groups --arena ', {'main': '', 'thread': ''}, False)
    fields = [name[2:] for name in options('groups')[0] if name.endswith('-min')]
    compare(shell, 'fields of --filter', 'memtui groups --filter p', {f'{f.replace("-", "_")}:': '' for f in fields if f[0] == 'p'} |
            {'position_in_chain_max:': ''}, False)
    compare(shell, 'values of a field of --filter', 'memtui groups --filter arena:',
            {('' if shell.name == 'bash' else 'arena:') + k: '' for k in ('main', 'thread')}, False)
    themes = output('memtui', 'help', 'themes').stdout.split()
    compare(shell, 'themes', 'memtui open --theme ', dict.fromkeys(themes, ''), False)
    compare(shell, 'themes, of a memtui by its path', f'{shutil.which("memtui")} open --theme ', dict.fromkeys(themes, ''), False)
    topics = [*re.search(r'\[COMMAND\|([a-z|]+)\]', help_of('help')).group(1).split('|'), 'memtui']
    compare(shell, 'topics of help', 'memtui help ', dict.fromkeys([*commands, *topics], ''), False)
    for command, before in ('ctl', 'ctl 4711'), ('sessions', 'sessions'):
        verbs = {left.split()[0]: words for left, words in section(help_of(command), 'Verbs').items()}
        compare(shell, f'verbs of {command}', f'memtui {before} ', verbs)
    compare(shell, 'nothing for a session', 'memtui sessions remove ', {})
    compare(shell, 'files to keep a session in', 'memtui sessions keep a ', dict.fromkeys(files(), ''), False)
    compare(shell, 'nothing for a number', 'memtui record --depth ', {})
    compare(shell, 'nothing for a pattern', 'memtui callers ', {})
    everything = dict.fromkeys(files(), '')
    compare(shell, 'files for a trace', 'memtui report --top 3 ', everything, False)
    compare(shell, 'files for a second trace', 'memtui open a.dat ', everything, False)
    compare(shell, 'files for the trace of callers', 'memtui callers main ', everything, False)
    compare(shell, 'files for many traces', 'memtui info a.dat b.dat ', everything, False)
    compare(shell, 'a third trace', 'memtui open a.dat b.dat ', everything, False)
    compare(shell, 'files for an option', 'memtui record -o ', everything, False)
    check_program(shell)


def check_program(shell):
    """What is offered for the program that is run is the shell's own affair, but no option of memtui."""
    offered, errors = shell.ask('memtui record -o x.dat gre')
    tell(f'{shell.name}: programs', '' if 'grep' in offered and not errors else f'no grep in {list(offered)[:9]} {errors}')
    offered, errors = shell.ask('memtui record -o x.dat known --')
    own = [name for name in offered if name in options('record')[0]]
    tell(f'{shell.name}: no options behind the program', errors or (f'offers {own}' if own else ''))
    if shell.name == 'fish':
        compare(shell, 'the options of the program', 'memtui run --fps 3 -- known --', {'--alpha': 'first'})


def typed(*lines):
    """What an interactive bash writes to its terminal; each line is typed at its prompt.

    Readline draws the prompt again while it completes, and a read can end right behind it. Only bash writes "ready:" before a
    prompt, once for each, so that no line is typed into the middle of another."""
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(INPUTRC='inputrc', TERM='dumb', PS1='now> ', PROMPT_COMMAND='printf ready:', COLUMNS='200')
        os.execvp('bash', ['bash', '--norc', '--noprofile', '-i'])
    text, lines = b'', list(lines)
    try:
        while piece := os.read(fd, 65536):
            text += piece
            if lines and text.endswith(b'ready:now> '):
                text += b'\n'
                os.write(fd, lines.pop(0).encode())
    except OSError:  # the shell has ended
        pass
    os.waitpid(pid, 0)
    return text.decode(errors='replace')


def check_typed():
    """bash itself, at a terminal: the first tab inserts, the second lists with words, files are readline's."""
    with open('inputrc', 'w') as file:
        file.write('set page-completions off\nset completion-query-items 0\nset bell-style none\n')
    begin, end = '\x01', '\n'
    screen = typed('source ./memtui.bash; complete -p memtui\n', 'memtui re\t\t\x15\n', f'memtui rep\t{begin}echo = {end}',
                   f'memtui groups --sort=leaked_s\t{begin}echo = {end}', f'memtui groups --filter size_mi\t{begin}echo = {end}',
                   f'memtui report a\t{begin}echo = {end}', f'memtui record -o b\t{begin}echo = {end}', 'exit\n')
    wanted = {
        'complete -p': r'\ncomplete -F _memtui memtui\r',
        'words beside the names': r'report  print totals, losses and',
        'a command': r'\n= memtui report\r',
        'a value': r'\n= memtui groups --sort=leaked_size\r',
        'a field of --filter': r'\n= memtui groups --filter size_min:\r',
        'a trace': r'\n= memtui report a.dat\r',
        'a file': r'\n= memtui record -o b.mem\r',
    }
    library = '/usr/share/bash-completion/bash_completion'
    if os.path.exists(library):
        screen += typed(f'source {library}; source ./memtui.bash\n', f'memtui record -f -- grep --fixed-str\t{begin}echo = {end}',
                        'exit\n')
        wanted['an option of the program'] = r'\n= memtui record -f -- grep --fixed-strings'
    for name, pattern in wanted.items():
        tell(f'bash at a terminal: {name}', '' if re.search(pattern, screen) else f'{pattern} is not in {screen!r}')


os.makedirs('zsh')
for name in 'capture.zsh', 'inside.zsh':
    shutil.copy(f'{here}/{name}', 'zsh')
for name in 'a.dat', 'b.mem':
    open(name, 'w').close()
for shell, path in ('bash', 'memtui.bash'), ('zsh', 'zsh/_memtui'), ('fish', 'memtui.fish'):
    with open(path, 'w') as file:
        file.write(output('memtui', 'help', '--completion', shell).stdout)
for shell in Bash(), Zsh(), Fish():
    if shutil.which(shell.name):
        check(shell)
    else:
        print(f'skip completion {shell.name}: it is not installed')
check_typed()
sys.exit(bad)
