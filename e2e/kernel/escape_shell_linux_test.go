package kernel

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mcphub/e2e/needs"
	"mcphub/e2e/seeds"
	"mcphub/e2e/world"
)

// shellReads are commands that show what a file holds, and leave it as it is. {p} is the path as a word; if a program takes it otherwise,
// $p is it.
var shellReads = strings.Split(strings.TrimSpace(`
cat {p}
head -c 4096 {p}
tail -n 100 {p}
tac {p}
nl {p}
sed -n p {p}
awk 1 {p}
grep -ha . {p}
grep -rha . "$(dirname {p})"
sort {p}
uniq {p}
cut -c1- {p}
paste {p}
fold -w 4000 {p}
expand {p}
pr -t {p}
rev {p} | rev
base64 {p} | base64 -d
xxd -p {p} | xxd -r -p
gzip -c {p} | gunzip -c
zcat -f {p}
dd if={p} status=none
cp {p} /dev/stdout
cp {p} ./got && cat ./got
mkdir got; cp -r "$(dirname {p})"/* ./got; grep -rha . ./got
ln {p} ./got && cat ./got
ln -s {p} ./got && cat ./got
ln -s "$(dirname {p})" ./got && cat ./got/"$(basename {p})"
install {p} ./got && cat ./got
tar cf - {p} | tar xOf -
tar chf - -C "$(dirname {p})" . | tar xOf -
tee < {p}
cat < {p}
cat 0<{p}
cat <(cat {p})
diff /dev/null {p}
comm {p} /dev/null
shuf {p}
split --filter=cat {p}
strings {p}
tr a a < {p}
xargs -a {p} -d '\n' echo
date -f {p}
bash -v {p}
echo "$(<{p})"
IFS= read -r -d '' x < {p}; printf %s "$x"
mapfile -t x < {p}; printf '%s\n' "${x[@]}"
exec 9<{p}; cat <&9
exec 9<>{p}; cat <&9
cat /dev/fd/9 9<{p}
while IFS= read -r x; do echo "$x"; done < {p}
find {p} -exec cat {} ;
find "$(dirname {p})" -type f -exec cat {} +
find {p} -print0 | xargs -0 cat
cd "$(dirname {p})" && cat "$(basename {p})"
cd "$(dirname {p})"; cat ./*
pushd "$(dirname {p})" >/dev/null && cat "$PWD/$(basename {p})"
perl -pe 1 {p}
P="$p" perl -e 'open F, "<", $ENV{P} or die; print <F>'
P="$p" perl -e 'use Fcntl; sysopen F, $ENV{P}, O_RDONLY or die $!; sysread F, $b, 4096; print $b'
P="$p" python3 -c 'import os; print(open(os.environ["P"]).read())'
P="$p" node -e 'console.log(require("fs").readFileSync(process.env.P, "utf8"))'
git diff --no-index /dev/null {p}
git grep --no-index -h . {p}
git -c core.excludesFile={p} hash-object -w --stdin < {p} | xargs git cat-file -p
git init -q got; git -C got hash-object -w {p} | xargs git -C got cat-file -p
curl -s file://{p}
openssl base64 -in {p} | openssl base64 -d
gcc -E -x c {p}
busybox cat {p}
/lib64/ld-linux-x86-64.so.2 /bin/cat {p}
script -qc "cat $p" /dev/null
setpriv --reuid 65534 --clear-groups cat {p} || cat {p}
unshare -Urm sh -c 'mkdir -p m && mount --bind "$(dirname "$1")" m && cat m/"$(basename "$1")"' - {p}
unshare -Urm sh -c 'mkdir -p m && mount --rbind / m && cat m"$1"' - {p}
unshare -Ur chroot / cat {p}
nsenter -t $PPID -m cat {p}
LD_PRELOAD={p} true; cat {p}
BASH_ENV={p} bash -v -c :; bash -v {p}
`), "\n")

// shellWrites are commands that change something. {d} is a directory, {f} a file in it.
var shellWrites = strings.Split(strings.TrimSpace(`
echo x > {d}/new
echo x >> {f}
: > {f}
echo x >| {f}
tee {d}/new <<< x
tee -a {f} <<< x
exec 9>{d}/new; echo x >&9
exec 9<>{d}/new; echo x >&9
cp hello.txt {d}/new
cp hello.txt {f}
cp -r sub {d}/new
mv -f sub {d}/new
mv {f} ./got
mv {d} ./got
mv {f} {d}/moved
ln hello.txt {d}/new
ln -s hello.txt {d}/new
ln {f} {d}/new
ln -s {d} ./got && echo x > ./got/new
ln -s {d}/new ./got && echo x > ./got
mkdir {d}/new
mkdir -p {d}/new/deep
mkfifo {d}/new
mknod {d}/new c 1 3
touch {d}/new
truncate -s 0 {f}
truncate -s 10 {d}/new
rm -f {f}
rm -rf {d}
unlink {f}
find {d} -type f -delete
sed -i s/e/x/ {f}
perl -i -pe s/e/x/ {f}
perl -e 'open F, ">>", $ARGV[0] or die; print F "x"' {f}
dd if=hello.txt of={d}/new status=none
dd if=hello.txt of={f} conv=notrunc status=none
install hello.txt {d}/new
sort -o {d}/new hello.txt
split hello.txt {d}/new
git init -q {d}/new
git config -f {d}/new a.b c
tar cf - hello.txt | tar xf - -C {d}
cd {d} && echo x > new
cd {d} && rm -f secret.txt
shred -n 1 {f}
fallocate -l 10 {d}/new
script -qc true {d}/new
curl -s -o {d}/new file:///etc/passwd
python3 -c 'import sys; open(sys.argv[1], "a").write("x")' {f}
node -e 'require("fs").appendFileSync(process.argv[1], "x")' {f}
unshare -Urm sh -c 'mkdir -p m && mount --bind "$1" m && echo x > m/new' - {d}
unshare -Ur sh -c 'echo x > "$1"/new' - {d}
xargs -I% cp hello.txt % <<< {d}/new
gzip {f}
`), "\n")

// shellSpellings write an absolute path as a word of bash, which runs in w.
var shellSpellings = []func(w *world.World, path string) string{
	func(_ *world.World, path string) string { return path },
	func(_ *world.World, path string) string { return `"` + path + `"` },
	func(_ *world.World, path string) string { return "'" + path + "'" },
	func(_ *world.World, path string) string { return path[:3] + `""` + path[3:] },
	func(w *world.World, path string) string { return relative(w, path) },
	func(w *world.World, path string) string { return "./sub/../" + relative(w, path) },
	func(_ *world.World, path string) string { return "/proc/self/root" + path },
	func(_ *world.World, path string) string { return "/proc/$$/root" + path },
	func(_ *world.World, path string) string { return "/proc/$PPID/root" + path },
	func(w *world.World, path string) string { return "/proc/self/cwd/" + relative(w, path) },
	func(w *world.World, path string) string { return "/proc/$PPID/cwd/" + relative(w, path) },
	func(w *world.World, path string) string { return "/proc/thread-self/cwd/" + relative(w, path) },
	func(_ *world.World, path string) string { return "/dev/../" + path },
	func(_ *world.World, path string) string { return "/dev/fd/../root" + path },
	func(_ *world.World, path string) string { return strings.ReplaceAll(path, "/", "//") },
	func(_ *world.World, path string) string { return strings.ReplaceAll(path, "/", "/./") },
	func(_ *world.World, path string) string { return path[:len(path)-1] + "?" },
	func(_ *world.World, path string) string { return path[:len(path)-1] + "[" + path[len(path)-1:] + "]" },
	func(_ *world.World, path string) string { return path[:1] + "?" + path[2:] },
	func(_ *world.World, path string) string {
		return path[:len(path)-1] + "{" + path[len(path)-1:] + ".." + path[len(path)-1:] + "}"
	},
	func(_ *world.World, path string) string { return "$'" + escapedBytes(path, `\x%02x`) + "'" },
	func(_ *world.World, path string) string { return "$'" + escapedBytes(path, `\%03o`) + "'" },
	func(_ *world.World, path string) string { return `"$(printf '` + escapedBytes(path, `\%03o`) + `')"` },
	func(_ *world.World, path string) string {
		return `"$(echo ` + base64.StdEncoding.EncodeToString([]byte(path)) + ` | base64 -d)"`
	},
	func(_ *world.World, path string) string { return `"${nothing:-` + path + `}"` },
	func(w *world.World, path string) string { return `"${PWD%/*}` + strings.TrimPrefix(path, w.Dir) + `"` },
	func(w *world.World, path string) string {
		rel, _ := filepath.Rel(w.Home, path) // both are absolute
		return `"$HOME/` + rel + `"`
	},
	func(w *world.World, path string) string {
		rel, _ := filepath.Rel(w.Home, path)
		return "~/" + rel
	},
	func(w *world.World, path string) string { // through a link that is there already
		if below, is := strings.CutPrefix(path, w.Outside); is {
			return "link-out" + below
		}
		return path
	},
}

func relative(w *world.World, path string) string {
	rel, _ := filepath.Rel(w.Project, path) // both are absolute
	return rel
}

func escapedBytes(text, format string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		fmt.Fprintf(&b, format, c)
	}
	return b.String()
}

// shellWraps are ways to run a command: {c} is it, {q} is it as one word.
var shellWraps = strings.Split(strings.TrimSpace(`
{c}
{c}
{c}
( {c} )
eval {q}
f() { {c}; }; f
trap {q} EXIT
bash -c {q}
sh -c {q}
exec bash -c {q}
env -i HOME="$HOME" PATH="$PATH" bash -c {q}
bash <<< {q}
setsid bash -c {q}
setsid -w bash -c {q}
( setsid bash -c {q} & )
( ( setsid bash -c {q} & ) & )
setsid bash -c "setsid bash -c {q2} & exit" & wait
perl -e 'use POSIX; exit if fork; POSIX::setsid(); exit if fork; exec "bash", "-c", $ARGV[0]' {q}
nohup bash -c {q}
timeout 600 bash -c {q}
nice bash -c {q}
script -qc {q} /dev/null
unshare -Ur bash -c {q}
unshare -Urmpf --mount-proc bash -c {q}
setpriv --inh-caps=-all bash -c {q}
find . -maxdepth 0 -exec bash -c {q} ;
awk 'BEGIN { system(ARGV[1]) }' {q}
xargs -0 bash -c <<< {q}
git -c alias.x='!bash -c "$0"' x {q}
coproc { sleep .2; {c}; }; cat <&"${COPROC[0]}"
{c} | cat
`), "\n")

func quoteShell(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// aim is a file, and what its content is known by.
type aim struct{ path, needle string }

// honestText is what a shell may read.
const honestText = "hello from the project"

// aimsWithFolder are so many of the aims that all of their folder may be read: what lies beside them is little.
const aimsWithFolder = 4

// shellAims are files of the world, of the hub and of the system. The first one may be read. No free command line names a file
// of the system: it gets a copy.
func (s *sandboxed) shellAims() []aim {
	w := s.w
	all := []aim{{w.Path("project", "hello.txt"), honestText}, {w.Path("outside", "secret.txt"), world.SecretText}, {w.Path("project-secret", "secret.txt"), world.SecretText},
		{w.Path("home", ".ssh", "id_ed25519"), world.SecretText}, {w.Path("home", ".netrc"), world.SecretText}, {w.Path("hub.json"), `"mcpServers"`},
		{fmt.Sprintf("/proc/%d/environ", s.PID()), world.SecretText}}
	files, err := filepath.Glob(w.Path("home", "state", "mcphub", "audit", "*.jsonl"))
	if err != nil || len(files) == 0 {
		s.T.Fatalf("the hub has no record: %v", err)
	}
	all = append(all, aim{files[0], `"prev":`})
	here := world.Source("go.mod")
	home, err := os.UserHomeDir()
	world.Must(s.T, err)
	for _, path := range []string{here, "/etc/shadow", "/etc/sudoers", "/etc/ssh/sshd_config", "/var/lib/dpkg/status", "/var/log/dpkg.log", filepath.Join(home, ".bashrc"), filepath.Join(home, ".profile")} {
		b, err := os.ReadFile(path)
		if first, _, _ := bytes.Cut(b, []byte("\n")); err == nil && len(first) >= 12 {
			if s.free {
				path = w.Write("system"+path, string(b))
			}
			all = append(all, aim{path, string(first)})
		}
	}
	return all
}

// command draws a command line, and says by what its output shows that it has read; "" if it is to change something.
func (s *sandboxed) command(d *rand.Rand, i int, aims []aim) (line, needle string) {
	from := func(list []string) string { return list[d.IntN(len(list))] }
	spell := func(path string) string { return shellSpellings[d.IntN(len(shellSpellings))](s.w, path) }
	switch i % 6 {
	case 0: // the control that is not free
		aims = aims[:1]
	case 1, 2:
		dir := zone(s.w)[d.IntN(3)]
		line = strings.NewReplacer("{d}", spell(dir), "{f}", spell(filepath.Join(dir, "secret.txt"))).Replace(from(shellWrites))
	}
	if line == "" {
		line = from(shellReads)
		if strings.Contains(line, "dirname") {
			aims = aims[:min(len(aims), aimsWithFolder)]
		}
		a := aims[d.IntN(len(aims))]
		word := spell(a.path)
		needle = a.needle
		if strings.Contains(line, "$p") || d.IntN(4) == 0 {
			line = `p=$(echo ` + word + `); ` + strings.ReplaceAll(line, "{p}", `"$p"`)
		}
		line = strings.ReplaceAll(line, "{p}", word)
	}
	line = strings.ReplaceAll(line, "{} ;", `{} \;`)
	q := quoteShell(line)
	wrap := strings.ReplaceAll(from(shellWraps), "{q} ;", `{q} \;`)
	return strings.NewReplacer("{c}", line, "{q2}", strings.NewReplacer(`\`, `\\`, `"`, `\"`, "$", `\$`, "`", "\\`").Replace(q), "{q}", q).Replace(wrap), needle
}

// Shell strings go to a server that runs them with bash: reading and writing by some 130 commands, with paths in 29 spellings,
// in processes that are started in 30 ways. Held by the kernel none shows what lies outside, and nothing outside changes. The
// control is the same server free. MCPHUB_LONG_CASES says how many strings there are, at most 2,000.
func TestShellStringsAtTheConfinedServer(t *testing.T) {
	t.Parallel()
	needs.Line(t, "awk bash curl find grep perl python3 script sed setpriv setsid tar unshare xargs")
	many, whole := world.LongCases(t, 60, 2000), t // whose cases are the same in each way
	came := verdicts{}
	for _, how := range ways {
		free := how.free
		escaped, inside := 0, 0
		for first := 0; first < many; first += callsPerSession / 3 {
			t.Run(fmt.Sprintf("%v, from %d", how, first), func(t *testing.T) {
				s := newSandboxed(t, how, openerEntry(free))
				s.AwaitTool("kid__shell")
				aims := s.shellAims()
				for i := first; i < min(many, first+callsPerSession/3); i++ {
					line, needle := s.command(seeds.Rand(whole, i), i, aims)
					said := s.MustCallArgs("kid__shell", obj{"command": line}).Text
					changed := s.changes()
					reads := needle != "" && strings.Contains(said, needle)
					came.add(how, "reads ", reads, ", changes ", len(changed))
					switch {
					case reads && needle == honestText:
						inside++
					case reads || len(changed) > 0:
						escaped++
						if !free {
							t.Errorf("escaped: %s\n%.300s\n%q", line, said, changed)
						}
					}
					s.restore(changed)
				}
			})
		}
		t.Logf("%v: of %d command lines %d led outside, %d showed what lies inside", how, many, escaped, inside)
		if free && escaped < many/3 || inside < many/12 {
			t.Error("too few show what they should, so this shows nothing")
		}
	}
	came.judge(t, many/3)
}

// restore puts the zone back as it was, and takes away what the last command has left inside.
func (s *sandboxed) restore(changed []string) {
	s.T.Helper()
	for _, name := range []string{"got", "m", "moved"} {
		world.Must(s.T, os.RemoveAll(s.w.Path("project", name)))
	}
	s.w.Write("project/hello.txt", honestText+"\n")
	s.w.Write("project/sub/deep.txt", "deep\n")
	if link := s.w.Path("project", "link-out"); !exists(link) {
		world.Symlink(s.T, s.w.Outside, link)
	}
	if len(changed) == 0 {
		return
	}
	for _, dir := range zone(s.w) {
		world.Must(s.T, os.RemoveAll(dir))
	}
	for _, path := range world.Names(s.outside) {
		kind, text, _ := strings.Cut(s.outside[path], "\n")
		switch kind[0] {
		case 'd':
			world.Must(s.T, os.MkdirAll(path, 0o700))
		case 'L':
			world.Symlink(s.T, text, path)
		default:
			world.Must(s.T, os.WriteFile(path, []byte(text), 0o600))
		}
	}
	s.outside = state(s.w)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
