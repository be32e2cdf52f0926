//go:build unix

package validate

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcphub/e2e/needs"
	"mcphub/e2e/seeds"
	"mcphub/validate/policy"
)

// A stringClass is one way in which the text of an argument reaches a file outside.
type stringClass struct {
	attack func(g *stringGen) string // the arguments of a call
	honest func(g *stringGen) string // one of the same shape that stays inside
}

// stringGen makes the strings of one class.
type stringGen struct {
	*rand.Rand
	w       *world
	command string      // of the latest attack, for a shell; "" for none
	control func() bool // shows that the latest attack works without the guard; nil: the command does
}

func (g *stringGen) pick(list ...string) string { return g.w.fill(list[g.IntN(len(list))]) }

// run makes a call of a shell string, as one string or in a vector.
func (g *stringGen) run(s string) string {
	g.command = s
	if g.IntN(4) == 0 {
		return `{"args":["bash","-c",` + quotedJSON(s) + `]}`
	}
	return `{"command":` + quotedJSON(s) + `}`
}

// secret returns the file outside, in some spelling.
func (g *stringGen) secret() string {
	return g.pick("{outside}/secret.txt", "../outside/secret.txt", "src/../../outside/secret.txt", "{outside}/./secret.txt", "{project}/../outside/secret.txt", "./../outside//secret.txt", "{outside}/sub/../secret.txt")
}

// inside returns a file that may be read.
func (g *stringGen) inside() string {
	return g.pick("src/main.go", "a.txt", "{project}/a.txt", "./src/main.go", "src/../a.txt", "{project}/src/main.go")
}

// printers print a text that they are told to print.
var printers = []string{
	"date '+%s'", "date +%s", "date -u \"+%s\"", "find . -maxdepth 0 -printf '%s\\n'", "find a.txt -printf '%s'", "stat -c '%s' .", "stat --format='%s' a.txt", "stat --printf '%s\\n' .", "stat -c%s .",
	"printf '%s\\n'", "printf %s", "echo %s", "echo -n '%s'", "sed -n '1s|.*|%s|p' a.txt", "sed '1s#.*#%s#;q' a.txt", "sed -e '1s!^.*$!%s!' a.txt", "git --git-dir={home}/git log -1 --format=%s%n", "git --git-dir={home}/git log -1 --format='%s%n' --no-color",
	"git --git-dir={home}/git log -1 --pretty=format:%s", "git --git-dir={home}/git log -1 --pretty='tformat:%s'", "ls -d --time-style='+%s' -l . | cut -d' ' -f6", "awk 'BEGIN{print \"%s\"}'",
}

// readers take what another program prints for the name of a file, or run it.
var readers = []string{
	"%s | xargs cat", "cat $(%s)", "cat `%s`", "cat \"$(%s)\"", "%s | while read -r f; do cat \"$f\"; done", "%s | sed 's/^/cat /' | bash", "x=$(%s); cat \"$x\"", "for f in $(%s); do cat $f; done", "%s > x; cat $(cat x)",
	"eval \"cat $(%s)\"", "echo \"$(%s)\" | xargs cat", "cat < $(%s)", "head -n 1 $(%s)", "read -r f < <(%s); cat \"$f\"", "%s | tee x | xargs cat", "cat $(%s) 2>&1", "%s | { read -r f; cat $f; }", "%s | xargs -I{} cat {}", "set -- $(%s); cat $1",
}

// format writes a text as a format that prints it.
func (g *stringGen) format(s string) string {
	if g.IntN(3) > 0 || !strings.Contains(s, "/") {
		return s
	}
	return s[:strings.LastIndexByte(s, '/')] + "/" + s[strings.LastIndexByte(s, '/'):] // a//b
}

// parts returns a text cut into variables: what gives them their values, and the word that joins them.
func (g *stringGen) parts(s string) (given, word string) {
	n := 2 + g.IntN(2)
	cuts := []int{0, len(s)}
	for range n - 1 {
		cuts = append(cuts, g.IntN(len(s)+1))
	}
	slices.Sort(cuts)
	form := g.IntN(4)
	for i := range n {
		name, part := string(rune('p'+i)), s[cuts[i]:cuts[i+1]]
		switch form {
		case 0:
			given += "export " + name + "='" + part + "'; "
		case 1:
			given += name + "=\"" + part + "\"\n"
		default:
			given += name + "=" + part + "; "
		}
		word += g.pick("$"+name, "${"+name+"}", "\"$"+name+"\"")
		if word[len(word)-1] != '}' && word[len(word)-1] != '"' && i+1 < n {
			word = word[:len(word)-2] + "${" + name + "}"
		}
	}
	return given, word
}

// editors read the file that stands directly behind a command.
var editors = []string{
	"sed '/./r%s' a.txt", "sed '$r%s' a.txt", "sed 1r%s a.txt", "sed -e'1r%s' a.txt", "sed -n -e '1,2r%s' a.txt", "sed '/x/Ir%s' x.txt", "sed '/x/I,/y/r%s' x.txt", "sed -n '1!p;r%s' x.txt", "sed '1{r%s\n}' a.txt", "xargs -a%s echo", "grep -hf%s {outside}/secret.txt",
	"ex -s '+r%s' '+%%p' '+q!' a.txt", "ex -s '+0r%s' '+1p' '+q!' a.txt", "nvim --headless --cmd 'so%s' +q", "vim -es '+:r%s' '+%%p' '+q!' a.txt",
}

var stringClasses = map[string]stringClass{
	"printed": {
		attack: func(g *stringGen) string {
			print := strings.Replace(g.w.fill(printers[g.IntN(len(printers))]), "%s", g.format(g.secret()), 1)
			return g.run(strings.Replace(readers[g.IntN(len(readers))], "%s", print, 1))
		},
		honest: func(g *stringGen) string {
			if g.IntN(4) == 0 { // alone it is text
				list := printers[:len(printers)-6]
				return g.run(strings.Replace(g.w.fill(list[g.IntN(len(list))]), "%s", g.pick("{outside}/secret.txt", "../outside/secret.txt"), 1) + g.pick("", " | head -n 1", " | wc -c", " | grep x", " && ls"))
			}
			text := g.inside()
			if g.IntN(3) == 0 {
				text = g.pick("%%Y-%%m-%%d", "%%Y/%%m/%%d", "%%H:%%M:%%S", "x/%%U/%%G", "%%s", "%%h %%an", "v1.%%d")
			}
			print := strings.Replace(printers[g.IntN(14)], "%s", strings.ReplaceAll(text, "%%", "%"), 1)
			return g.run(strings.Replace(readers[g.IntN(len(readers))], "%s", print, 1))
		},
	},
	"expanded": {
		attack: func(g *stringGen) string {
			switch g.IntN(7) {
			case 0:
				return g.run("cat " + g.pick("$PWD-evil", "${PWD}-evil", "\"$PWD-evil\"", "\"$PWD\"-evil", "$PWD''-evil", "${PWD:-x}-evil") + g.pick("", "/.", "/sub/..", "/") + "/secret.txt")
			case 1:
				return g.run("cat " + g.pick("${PWD%project}project-evil", "${PWD%ject}ject-evil", "\"${PWD%t}t-evil\"", "${PWD%%project*}project-evil", "${PWD/%project/project-evil}", "${PWD/project/project-evil}", "${PWD:0}-evil", "${PWD%/*}/project-evil") + "/secret.txt")
			case 2:
				x := g.pick("x", "dot", "_", "a1")
				given, done := g.pick(x+"=.; ", "export "+x+"=.; ", x+"='.'\n", "for "+x+" in .; do ", "read "+x+" <<< .; "), ""
				if strings.HasPrefix(given, "for") {
					done = "; done"
				}
				return g.run(given + "cat " + g.pick("$"+x+"$"+x+"/", "${"+x+"}${"+x+"}/", "src/../$"+x+"$"+x+"/") + "outside/secret.txt" + done)
			case 3:
				x := g.pick("x", "y2")
				return g.run(x + "=.; " + x + g.pick("+=.", "=$"+x+".", "=.$"+x, "=\"${"+x+"}.\"") + "; cat $" + x + "/outside/secret.txt")
			default:
				given, word := g.parts(g.secret())
				return g.run(given + "cat " + word)
			}
		},
		honest: func(g *stringGen) string {
			switch g.IntN(4) {
			case 0:
				return g.run(g.pick("cat $PWD/a.txt", "docker build -t ${PWD##*/} .", "echo \"$PWD\"", "ls \"$PWD/src\"", "cat ${PWD}/src/main.go", "echo ${PWD##*/}-evil", "name=${PWD##*/}; echo $name"))
			case 1:
				return g.run(g.pick("v=1.2; echo app-$v.tgz", "d=src; f=main.go; cat $d/$f", "for f in a.txt b.txt; do cat $f; done", "for d in src docs; do for f in x y; do ls $d; done; done", "n=0; n=$((n+1)); echo $n", "s=; for x in a b; do s=\"$s $x\"; done; echo $s", "x=.; ls $x"))
			default:
				given, word := g.parts(g.pick("src/main.go", "a.txt", "docs", "./src/main.go"))
				return g.run(given + "cat " + word)
			}
		},
	},
	"glued": {
		attack: func(g *stringGen) string {
			file := g.pick("{outside}/secret.txt", "{outside}/./secret.txt", "{outside}/sub/../secret.txt", "{home}/./outside/secret.txt")
			script := editors[g.IntN(len(editors))]
			if g.IntN(4) == 0 {
				g.command = ""
				word := strings.NewReplacer("%s", file).Replace(g.pick("1r%s", "r%s", "/x/Ir%s", "$r%s", "so%s", "+r%s", "0r%s", "/a/,/b/r%s", "2,3R%s", "w%s", "source%s", "e%s"))
				g.control = func() bool { _, err := os.Stat(word[strings.Index(word, g.w.home):]); return err == nil }
				return g.pick(`{"args":["-e",`, `{"command":"sed","args":["-e",`, `{"argv":["ex","-s",`, `{"args":["nvim","--cmd",`) + quotedJSON(word) + `,"a.txt"]}`
			}
			return g.run(strings.ReplaceAll(strings.Replace(g.w.fill(script), "%s", file, 1), "%%", "%"))
		},
		honest: func(g *stringGen) string {
			return g.run(g.pick("sed '/x/d' a.txt", "sed -n '1,5p' a.txt", "sed 's/a/b/;s|/usr|/opt|' a.txt", "gcc -Iinclude/x -Lbuild/lib a.c", "cc -I./include -o bin/x src/x.c", "sed '/^$/d;s/x/y/' a.txt", "sed '1rsrc/main.go' a.txt", "git checkout feature/etc/x", "npm i @types/node @scope/usr", "mkdir -p pkg/usr/bin", "ls src/usr/local/bin",
				"cat docs/etc/hosts.md", "ex -s +wq a.txt", "vim '+/foo' src/main.go", "grep -n 'a/b/c' a.txt", "docker pull docker.io/library/node", "git log origin/feature/home", "go test ./internal/home/...", "tar czf out.tgz src", "curl https://x.org/etc/passwd", "sed '/a/,/b/p' a.txt", "awk '/a/{print}/b/{print}' a.txt"))
		},
	},
	"colons": {
		attack: func(g *stringGen) string {
			g.command = ""
			host := g.pick("{outside}", "{outside}/secret.txt", "../outside", "../../{base}/outside", "~/outside", "~/.ssh", "${HOME}/outside", "./../outside", "{outside}/sub", "../outside/./secret.txt")
			host = strings.ReplaceAll(host, "{base}", filepath.Base(g.w.home))
			tail := g.pick(":/x", ":/x:ro", ":/data:rw,z", ":/etc/x:ro", ":/usr/src/app", "#/a", "#/definitions/x", "?raw", "#L12", "?mode=ro")
			quote := g.pick("", "'", `"`)
			g.control = func() bool {
				p := strings.NewReplacer("~", g.w.home, "${HOME}", g.w.home).Replace(host)
				if !filepath.IsAbs(p) {
					p = filepath.Join(g.w.project, p)
				}
				_, err := os.Stat(p)
				return err == nil
			}
			if g.IntN(4) == 0 {
				return `{` + g.pick(`"volumes":[`, `"binds":[`, `"$ref":[`, `"x":[`) + quotedJSON(host+tail) + `]}`
			}
			before := g.pick("services:\n  web:\n    volumes:\n      - ", "volumes:\n- ", "a:\n  $ref: ", "schema: ", "x: {volumes: [", "  - ", "items:\n    $ref: ")
			after := ""
			if strings.HasSuffix(before, "[") {
				after = "]}"
			}
			return `{"` + g.pick("compose", "yaml", "spec", "config", "compose_yaml") + `":` + quotedJSON(before+quote+host+tail+quote+after+"\n") + `}`
		},
		honest: func(g *stringGen) string {
			pair := g.pick("data:/var/lib/postgresql/data", "./src:/usr/src/app:ro", "cache:/root/.npm", "{project}:/work", "{project}/src:/etc/x:ro", "src:/app", "./a.txt:/etc/nginx/nginx.conf:ro", ".:/home", "db-data:/var/lib/mysql", "8080:80", "127.0.0.1:5432:5432", "node_modules:/usr/src/app/node_modules", "./docs/x.yml#/a", "#/definitions/x", "src/x.json#/a", "https://x.org/s.json#/a")
			if g.IntN(4) == 0 {
				return `{"volumes":[` + quotedJSON(pair) + `]}`
			}
			quote := g.pick("", "'", `"`)
			return `{"` + g.pick("compose", "yaml", "compose_yaml") + `":` + quotedJSON(g.pick("services:\n  web:\n    volumes:\n      - ", "volumes:\n- ", "ports:\n  - ", "x:\n  $ref: ")+quote+pair+quote+"\n") + `}`
		},
	},
	"databases": {
		attack: func(g *stringGen) string {
			g.command = ""
			whole := g.pick("{outside}/secret.txt", "{outside}/sub/x")
			at := 0
			for range 1 + g.IntN(strings.Count(whole, "/")-1) {
				at += 1 + strings.IndexByte(whole[at+1:], '/')
			}
			dir, rest := whole[:max(at, 1)], whole[at+1:]
			if g.IntN(5) == 0 {
				dir, rest = "/", whole[1:]
			}
			g.control = func() bool { _, err := os.Stat(filepath.Join(dir, strings.TrimPrefix(rest, "~/"))); return err == nil }
			q := g.pick("'", `"`)
			set := g.pick("SET file_search_path=", "SET file_search_path TO ", "set home_directory = ", "SET VARIABLE d = ", "PRAGMA file_search_path=", "SET GLOBAL file_search_path = ") + q + dir + q
			if strings.Contains(set, "home_directory") && g.IntN(2) == 0 {
				rest = "~/" + rest
			}
			sql := set + g.pick("; ", ";\n", " ; ") + g.pick("SELECT * FROM read_csv(%s)", "FROM %s", "COPY t FROM %s", "SELECT * FROM read_text([%s])", "ATTACH %s AS a", "CREATE VIEW v AS SELECT * FROM read_blob(%s)")
			return `{"` + g.pick("sql", "query", "statement") + `":` + quotedJSON(strings.Replace(sql, "%s", "'"+rest+"'", 1)) + `}`
		},
		honest: func(g *stringGen) string {
			return `{"` + g.pick("sql", "query", "statement") + `":` + quotedJSON(g.pick("SET search_path = 'app'; SELECT * FROM t", "SET file_search_path='data'; FROM 'a.csv'", "SET file_search_path='{project}'; FROM 'src/main.go'", "SELECT split_part(p, '/', 2), 'a/b' FROM t", "SELECT '/' || name || '.txt' FROM t", "SELECT * FROM t WHERE p LIKE '/home/%' AND x = 'a/b'",
				"SELECT * FROM t WHERE p = '/' OR q = 'x/y.csv'", "SET timezone='Europe/Berlin'; SELECT now()", "SELECT * FROM read_csv('src/a.csv') WHERE d = '2026/11/25'", "SELECT * FROM users WHERE shell = '/bin/bash'", "SELECT * FROM t WHERE a = '/home' AND b = 'docs/x'", "SET threads=4; COPY t TO 'out/x.parquet'")) + `}`
		},
	},
	"hosts": {
		attack: func(g *stringGen) string {
			host := g.pick("localhost", "LOCALHOST", "localhost.", "localhost.localdomain", "127.0.0.1", "127.1", "127.0.1", "0", "0x7f000001", "0x7f.1", "2130706433", "017700000001", "127.255.0.3", "0.0.0.0", "[::1]", "[::ffff:127.0.0.1]", "x.localhost")
			name := strings.Trim(host, "[]")
			if g.IntN(4) == 0 {
				names := namesOfThisHost(g.w.t)
				host = names[g.IntN(len(names))]
				name = host
			}
			user := g.pick("", "me@", "root@")
			file := g.pick("{outside}/secret.txt", "{outside}/sub/../secret.txt", "{outside}//secret.txt")
			command := g.pick("ssh UH cat F", "ssh -p 22 UH 'cat F'", "ssh -o HostName=@H h cat F", "ssh -oHostname=@H h cat F", "ssh -o 'hostname @H' web cat F", "scp UH:F .", "scp -r UH:F out", "scp scp://UH/F .", "sftp sftp://UH/F", "rsync -a UH:F .", "rsync rsync://UH/F .", "git clone ssh://UH/F x", "git ls-remote ssh://UH:22/F", "ssh ssh://UH cat F")
			if strings.Contains(name, ":") && strings.Contains(command, "ssh UH") || strings.Contains(command, "22 UH") {
				host = name
			}
			g.command = ""
			g.control = func() bool {
				at := net.ParseIP(strings.TrimPrefix(name, "::ffff:"))
				if at == nil {
					out, err := exec.Command("getent", "ahosts", name).Output()
					if err != nil {
						return strings.HasSuffix(strings.ToLower(strings.TrimSuffix(name, ".")), "localhost") || strings.HasPrefix(name, "localhost.") // by RFC 6761
					}
					at = net.ParseIP(strings.Fields(string(out))[0])
				}
				return at.IsLoopback() || at.IsUnspecified() || isOwnAddress(at)
			}
			command = strings.NewReplacer("UH", user+host, "/F", file, "F", file, "@H", host).Replace(command)
			if g.IntN(4) == 0 {
				words := strings.Fields(strings.NewReplacer("'", "").Replace(command))
				if !strings.Contains(command, "'") {
					return `{"args":` + jsonList(words) + `}`
				}
			}
			return `{"command":` + quotedJSON(command) + `}`
		},
		honest: func(g *stringGen) string {
			command := g.pick("ssh UH cat F", "ssh -p 22 UH 'ls F'", "ssh -o StrictHostKeyChecking=no UH cat F", "scp UH:F .", "scp a.txt UH:F", "scp -r UH:F out", "scp scp://UH/etc/hosts .", "rsync -a UH:F out/", "git clone ssh://UH/srv/x.git x", "sftp sftp://UH/etc/hosts", "ssh -o HostName=@H web cat F", "curl http://localhost/etc/hosts", "curl http://127.0.0.1:80/etc/passwd")
			host := g.pick("example.com", "h", "build01", "10.1.2.3", "8.8.8.8", "web-1.example.com", "3232235777", "git.example.org")
			return `{"command":` + quotedJSON(strings.NewReplacer("UH", g.pick("", "me@")+host, "F", g.pick("/etc/hosts", "/var/log/syslog", "/etc/nginx/nginx.conf"), "@H", host).Replace(command)) + `}`
		},
	},
	"programs": {
		attack: func(g *stringGen) string {
			g.command = ""
			g.control = nil // a container with the whole machine is what these ask for
			switch g.IntN(3) {
			case 0:
				options := []string{g.pick("--privileged", "--pid=host", "--pid host", "--privileged --rm"), g.pick("--rm", "-it", "--name x", "-e A=b", "-v ./src:/x"), g.pick("-w /x", "-d", "--network host")}
				g.Shuffle(len(options), func(i, j int) { options[i], options[j] = options[j], options[i] })
				command := g.pick("docker", "podman", "nerdctl", "sudo docker") + " " + g.pick("run", "container run", "create") + " " + strings.Join(options, " ") + " alpine " + g.pick("sh", "ls /x", "cat x")
				if g.IntN(2) == 0 {
					return `{"args":` + jsonList(strings.Fields(command)) + `}`
				}
				return `{"command":` + quotedJSON(command) + `}`
			case 1:
				file := g.secret()
				script := strings.ReplaceAll(g.pick("ext::sh -c cat% F% >&2", "ext::cat F", "ext::sh -c exec% cat% F"), "F", file)
				if strings.Contains(script, ">&2") {
					g.command = "git -c protocol.ext.allow=always ls-remote '" + script + "'"
				}
				if g.IntN(2) == 0 {
					return `{"` + g.pick("url", "repo", "remote", "x", "source") + `":` + quotedJSON(script) + `}`
				}
				return `{"command":` + quotedJSON(g.pick("git clone ", "git ls-remote ", "git fetch ")+"'"+script+"'") + `}`
			default:
				sign := g.pick("|", ",", "#", "!")
				file := g.pick("{outside}/new.txt", "../outside/new.txt", "{outside}/sub/new.txt", "./../outside/new.txt")
				script := "s" + sign + g.pick("a.txt", "^a", ".*", "^.*$") + sign + file + sign + g.pick("", "x", "g")
				option := g.pick("--transform '"+script+"'", "--transform='"+script+"'", "--xform='"+script+"'", "--xform '"+script+"'")
				command := "tar cf x.tar a.txt; tar -xPf x.tar " + option
				g.control = func() bool {
					cmd := exec.Command("bash", "-c", command)
					cmd.Dir = g.w.project
					_ = cmd.Run()
					matches := 0
					for _, p := range []string{g.w.outside, g.w.outside + "/sub"} {
						list, _ := filepath.Glob(p + "/new.txt*")
						for _, f := range list {
							matches++
							_ = os.Remove(f)
						}
					}
					_ = os.Remove(g.w.project + "/x.tar")
					return matches > 0
				}
				return `{"command":` + quotedJSON(command) + `}`
			}
		},
		honest: func(g *stringGen) string {
			return g.run(g.pick("docker run --rm -it alpine sh", "docker run -v ./src:/x --network host alpine ls /etc", "podman run --pid=container:x alpine ps", "docker exec web cat /etc/hosts", "git clone https://x.org/r.git", "git fetch origin", "tar cf x.tar --transform 's,^src,app-1.0,' src", "tar xf x.tar --xform='s|^[^/]*/||'", "tar czf x.tgz --transform 's#^#pkg/#' src", "docker run --rm -e A=host alpine", "docker ps", "tar xf x.tar --strip-components=1 -C docs"))
		},
	},
	"schemes": {
		attack: func(g *stringGen) string {
			g.command = ""
			file := g.pick("{outside}/secret.txt", "{outside}/./secret.txt", "{home}/outside/secret.txt", "{outside}/sub/../secret.txt")
			text := g.pick("foo", "xy", "custom", "app", "res", "my-scheme", "a.b", "vfs2", "repo", "doc") + g.pick(":", "://") + file
			g.control = func() bool {
				u, err := url.Parse(text)
				if err != nil {
					return false
				}
				_, err = os.Stat(u.Path)
				return err == nil
			}
			return `{"` + g.pick("url", "uri", "x", "target", "input", "ref", "value", "location") + `":` + quotedJSON(text) + `}`
		},
		honest: func(g *stringGen) string {
			return `{"` + g.pick("url", "uri", "x", "target", "value") + `":` + quotedJSON(g.pick("https://h/etc/passwd", "https://h{outside}/secret.txt", "http://localhost{outside}/secret.txt", "foo:///no/such/thing", "app://home/settings", "res:/drawable/x", "repo://o/r/etc/hosts", "custom:/v1/users", "https://x.org/?f={outside}/secret.txt", "mailto:a@b.c", "urn:a/b", "key:/value", "s3://bucket/etc/passwd", "doc:{project}/a.txt", "doc://{project}/a.txt")) + `}`
		},
	},
}

func jsonList(words []string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(quotedJSON(w))
	}
	return "[" + b.String() + "]"
}

// namesOfThisHost returns the names that /etc/hosts gives to loopback addresses.
func namesOfThisHost(t testing.TB) []string {
	names := []string{"localhost"}
	raw, err := os.ReadFile("/etc/hosts")
	if err != nil {
		return names
	}
	for line := range strings.Lines(string(raw)) {
		line, _, _ = strings.Cut(line, "#")
		if fields := strings.Fields(line); len(fields) > 1 {
			if at := net.ParseIP(fields[0]); at != nil && at.IsLoopback() {
				names = append(names, fields[1:]...)
			}
		}
	}
	return names
}

func isOwnAddress(at net.IP) bool {
	list, _ := net.InterfaceAddrs()
	return slices.ContainsFunc(list, func(a net.Addr) bool {
		n, ok := a.(*net.IPNet)
		return ok && n.IP.Equal(at)
	})
}

// TestStringClasses: whatever variant of a class reaches the file outside is denied, and strings of the same shape that stay inside
// pass. Of the attacks some are carried out without the guard.
func TestStringClasses(t *testing.T) {
	t.Parallel()
	cases := seeds.Cases(t, 150)
	for name, class := range stringClasses {
		t.Run(name, func(t *testing.T) {
			bash := needs.Program(t, "bash")
			needs.Program(t, "tar")
			w := wild(t)
			w.must(os.Remove(filepath.Join(w.project, "https:")))
			const text = "what nobody should see"
			w.must(os.WriteFile(w.outside+"/secret.txt", []byte(text+"\n"), 0o600))
			w.must(os.MkdirAll(w.project+"-evil/sub", 0o700))
			w.must(os.WriteFile(w.project+"-evil/secret.txt", []byte(text+"\n"), 0o600))
			w.must(os.WriteFile(w.project+"/x.txt", []byte("x\nx\ny\n"), 0o600))
			w.must(os.WriteFile(w.project+"/a.txt", []byte("a\n"), 0o600))
			if out, err := exec.Command(bash, "-c", "git init -q --bare '"+w.home+"/git' 2>&1 && cd '"+w.home+"/git' && git -c user.name=x -c user.email=x@y commit-tree $(git hash-object -t tree -w /dev/null) -m x </dev/null | xargs git update-ref HEAD").CombinedOutput(); err != nil {
				t.Logf("no repository: %v %s", err, out)
			}
			c := w.checker()
			tool := w.tool(c, "", anyTool)
			g := &stringGen{Rand: seeds.Rand(t), w: w}
			through, ran, reached := 0, 0, 0
			missed := map[string]bool{}
			for i := range cases {
				g.command, g.control = "", nil
				args := class.attack(g)
				_, v := w.call(c, tool, args)
				if v.Decision != policy.Deny {
					if through++; through < 12 {
						t.Errorf("allowed: %s", args)
					}
				}
				if i >= 40 && v.Decision == policy.Deny || i > 400 {
					continue
				}
				switch {
				case g.control != nil:
					if ran++; g.control() {
						reached++
					} else {
						missed[args] = true
					}
				case g.command != "":
					program, _, _ := strings.Cut(g.command, " ")
					if _, err := exec.LookPath(program); (program == "ex" || program == "vim" || program == "nvim") && err != nil {
						continue
					}
					if ran++; w.prints("", g.command) {
						reached++
					} else {
						missed[g.command] = true
					}
					_ = os.Remove(w.project + "/x")
				}
			}
			t.Logf("%d of %d attacks pass; %d of %d that were carried out reach the file; not %q", through, cases, reached, ran, fmt.Sprint(missed))
			if reached*10 < ran*8 || ran == 0 {
				t.Errorf("these are no attacks: %q", fmt.Sprint(missed))
			}
			refused := 0
			for range cases {
				args := class.honest(g)
				if _, v := w.call(c, tool, args); v.Decision != policy.Allow {
					if refused++; refused < 12 {
						t.Logf("refused: %s: %q as %s: %s", args, v.Deciding.Value, v.Deciding.How, v.Deciding.Code)
					}
				}
			}
			t.Logf("%d of %d honest strings are refused", refused, cases)
			if refused*200 > cases {
				t.Errorf("%d of %d honest strings are refused", refused, cases)
			}
		})
	}
}
