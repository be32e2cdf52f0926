package program

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"mcphub/rootsmgr/guard"
)

func TestRewriteArgs(t *testing.T) {
	t.Parallel()
	const pkg = "@modelcontextprotocol/server-filesystem"
	two := []string{"/home/user/project", "/home/user/documents"}
	for _, c := range []struct {
		name    string
		command string
		args    string
		mode    Rewrite
		paths   []string
		want    string
	}{
		{"C3's example", "filesystem-server", "--read-only", RewriteKnown, two, "--read-only /home/user/project /home/user/documents"},
		{"switch before a directory", "filesystem-server", "--read-only /old", RewriteKnown, two, "--read-only /home/user/project /home/user/documents"},
		{"in place", "mcp-server-filesystem", "/old --log-level debug /older", RewriteKnown, two, "/home/user/project /home/user/documents --log-level debug"},
		{"a flag's value stays", "mcp-server-filesystem", "--config /etc/fs.json /old", RewriteKnown, []string{"/r"}, "--config /etc/fs.json /r"},
		{"a flag with = takes none", "mcp-server-filesystem", "--config=/etc/fs.json /old", RewriteKnown, []string{"/r"}, "--config=/etc/fs.json /r"},
		{"behind --", "mcp-server-filesystem", "-- -odd", RewriteKnown, []string{"/r"}, "-- /r"},
		{"no roots", "filesystem-server", "--read-only /old", RewriteKnown, nil, "--read-only /old"},
		{"path and ending", "/opt/bin/filesystem-server.exe", "/old", RewriteKnown, []string{"/r"}, "/r"},
		{"npx package", "npx", "-y " + pkg + " /old", RewriteKnown, []string{"/r"}, "-y " + pkg + " /r"},
		{"npx package, relative directory", "npx", "-y " + pkg + " data", RewriteKnown, []string{"/r"}, "-y " + pkg + " /r"},
		{"npx version", "npx", pkg + "@2026.8.31", RewriteKnown, two, pkg + "@2026.8.31 /home/user/project /home/user/documents"},
		{"npx tag", "npx", "-y " + pkg + "@latest .", RewriteKnown, []string{"/r"}, "-y " + pkg + "@latest /r"},
		{"npx another package", "npx", "-y " + pkg + "-extra /old", RewriteKnown, []string{"/r"}, "-y " + pkg + "-extra /old"},
		{"npx somebody else's of that name", "npx", "-y @agent-infra/mcp-server-filesystem@1.2.29 --allowed-directories /old", RewriteKnown, []string{"/r"}, "-y @agent-infra/mcp-server-filesystem@1.2.29 --allowed-directories /old"},
		{"npx --package=", "npx", "--package=" + pkg + " mcp-server-filesystem /old", RewriteKnown, []string{"/r"}, "--package=" + pkg + " mcp-server-filesystem /r"},
		{"npx -p", "npx", "-y -p " + pkg + " mcp-server-filesystem /old", RewriteKnown, []string{"/r"}, "-y -p " + pkg + " mcp-server-filesystem /r"},
		{"cmd /c npx", "cmd", "/c npx -y " + pkg + " /old", RewriteKnown, []string{"/r"}, "/c npx -y " + pkg + " /r"},
		{"bunx", "bunx", pkg + " /old", RewriteKnown, []string{"/r"}, pkg + " /r"},
		{"pnpm dlx", "pnpm", "dlx " + pkg + " /old", RewriteKnown, []string{"/r"}, "dlx " + pkg + " /r"},
		{"deno", "deno", "run -A npm:" + pkg + " /old", RewriteKnown, []string{"/r"}, "run -A npm:" + pkg + " /r"},
		{"script in the package", "node", "/x/node_modules/" + pkg + "/dist/index.js /old", RewriteKnown, []string{"/r"}, "/x/node_modules/" + pkg + "/dist/index.js /r"},
		{"script name", "node", "--no-warnings /x/filesystem-server.js /old", RewriteKnown, []string{"/r"}, "--no-warnings /x/filesystem-server.js /r"},
		{"uvx name and version", "uvx", "mcp-server-filesystem==1.2 /old", RewriteKnown, []string{"/r"}, "mcp-server-filesystem==1.2 /r"},
		{"behind timeout", "timeout", "5 npx -y " + pkg + " /old", RewriteKnown, []string{"/r"}, "5 npx -y " + pkg + " /r"},
		{"behind a command that is not known", "op", "run -- npx -y " + pkg + " /old", RewriteKnown, []string{"/r"}, "run -- npx -y " + pkg + " /r"},
		{"in a text", "bash", "-c timeout~5~npx~" + pkg + " /old", RewriteKnown, []string{"/r"}, "-c timeout~5~npx~" + pkg + " /old"},
		{"a directory of that name is no script", "grep-server", "/x/filesystem-server", RewriteKnown, []string{"/r"}, "/x/filesystem-server"},
		{"another server", "uvx", "mcp-server-git --repository /old", RewriteKnown, []string{"/r"}, "mcp-server-git --repository /old"},
		{"docker never", "docker", "run -i mcp/filesystem " + pkg + " /old", RewriteKnown, []string{"/r"}, "run -i mcp/filesystem " + pkg + " /old"},
		{"podman never, not even when told", "/usr/bin/podman", "run -i filesystem-server /old", RewriteAlways, []string{"/r"}, "run -i filesystem-server /old"},
		{"told", "my-files", "serve --depth 3 /old", RewriteAlways, []string{"/r"}, "serve --depth 3 /r"},
		{"told, behind a script", "python3", "/opt/files.py /old", RewriteAlways, []string{"/r"}, "/opt/files.py /r"},
		{"told, no directories", "my-files", "serve", RewriteAlways, two, "serve /home/user/project /home/user/documents"},
		{"list only", "filesystem-server", "/old", RewriteNever, []string{"/r"}, "/old"},
		{"none", "filesystem-server", "/old", RewriteNever, []string{"/r"}, "/old"},
		{"placeholders say where", "filesystem-server", "/always ${roots}", RewriteKnown, []string{"/r"}, "/always ${roots}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			prog := Program{Command: c.command, Args: strings.Fields(c.args), Rewrite: c.mode}
			for i := range prog.Args {
				prog.Args[i] = strings.ReplaceAll(prog.Args[i], "~", " ")
			}
			before := slices.Clone(prog.Args)
			if got, want := strings.Join(prog.RewrittenArgs(c.paths), " "), strings.ReplaceAll(c.want, "~", " "); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if !slices.Equal(before, prog.Args) {
				t.Errorf("the Spec was changed: %q", prog.Args)
			}
		})
	}
}

func TestExpand(t *testing.T) {
	t.Parallel()
	two := rootsAt("/a|One", "/b/two")
	for _, c := range []struct {
		name  string
		roots []guard.Root
		args  []string
		want  []string
		err   string
	}{
		{"several arguments", two, []string{"-d", "${roots}", "x"}, []string{"-d", "/a", "/b/two", "x"}, ""},
		{"one each", two, []string{"--dir=${roots}"}, []string{"--dir=/a", "--dir=/b/two"}, ""},
		{"first", two, []string{"${root}/sub"}, []string{"/a/sub"}, ""},
		{"by name", two, []string{"${root:One}"}, []string{"/a"}, ""},
		{"given before its own", rootsAt("/a/x|x", "/b/y|x"), []string{"${root:x}"}, []string{"/b/y"}, ""},
		{"given before no name", rootsAt("/a/x", "/b/y|x"), []string{"${root:x}"}, []string{"/b/y"}, ""}, // so that both may share a process
		{"by last part", two, []string{"${root:two}"}, []string{"/b/two"}, ""},
		{"unknown name", two, []string{"${root:x}"}, nil, `the roots are called "One", "two"`},
		{"none for several", nil, []string{"a", "${roots}"}, []string{"a"}, ""},
		{"none for one", nil, []string{"${root}"}, nil, "no root that is a directory is known"},
		{"not ours", two, []string{"${rootless} ${HOME} ${root"}, []string{"${rootless} ${HOME} ${root"}, ""},
		{"expanded once", rootsAt("/x/${root:One}", "/a|One"), []string{"${root}"}, []string{"/x/${root:One}"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := Expander{Roots: c.roots}.Args(c.args)
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Fatalf("error %v, want %q", err, c.err)
			}
			if err == nil && !slices.Equal(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestAnInstalledNamesake: the program of another package that goes by the name is left alone, by its path too.
func TestAnInstalledNamesake(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for pkg, want := range map[string]bool{"@modelcontextprotocol/server-filesystem": true, "@agent-infra/mcp-server-filesystem": false} {
		module := filepath.Join(dir, strings.ReplaceAll(pkg, "/", "-"), "node_modules", filepath.FromSlash(pkg), "dist")
		bin := filepath.Join(dir, strings.ReplaceAll(pkg, "/", "-"), "node_modules", ".bin")
		for _, d := range []string{module, bin} {
			if err := os.MkdirAll(d, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		program := filepath.Join(bin, "mcp-server-filesystem")
		if err := errors.Join(os.WriteFile(filepath.Join(module, "index.js"), nil, 0o700), os.Symlink(filepath.Join(module, "index.js"), program)); err != nil {
			t.Fatal(err)
		}
		if _, got := findRootArgs(Program{Command: program}); got != want {
			t.Errorf("%s: %t", pkg, got)
		}
	}
}
