package shell

import (
	"testing"

	"mcphub/validate/access"
)

// TestReadMount: the fields of a mount are the mount of CSV, and their names are read in any letter case.
func TestReadMount(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec, host, target string
		bind               bool
	}{
		{"type=bind,source=/a,target=/b", "/a", "/b", true}, {"type=bind,src=/a,dst=/b,ro", "/a", "/b", true}, {" TYPE=Bind, Source=/a,destination=/b", "/a", "/b", true}, {"type=volume,source=a,target=/b", "a", "/b", false}, {"source=/a,target=/b", "/a", "/b", false},
		{`type=bind,"source=/a,c",target=/b`, "/a,c", "/b", true}, {`type=bind,source="/a",target=/b`, `"/a"`, "/b", true}, {"type=bind,src=/a,src=/c", "/c", "", true}, {"type=binds,source=/a", "/a", "", false}, {"", "", "", false}, {"sources=/a,type=bind", "", "", true}, {"type=bind,src=/a=b", "/a=b", "", true},
	} {
		if host, target, bind := ReadMount(c.spec); host != c.host || target != c.target || bind != c.bind {
			t.Errorf("%s: %q %q %v", c.spec, host, target, bind)
		}
	}
}

// TestBaseName: a command is known by its last component, without one suffix.
func TestBaseName(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"cat": "cat", "/bin/cat": "cat", `C:\x\Git.EXE`: "Git", "a/b.py": "b", "x.cmd": "x", "x.bat": "x", "x.ps1": "x", "x.js": "x", "x.mjs": "x", "x.cjs": "x", "x.ts": "x", "x.exe.js": "x.exe", "x.sh": "x.sh", ".exe": ".exe", "/": "", "": "", `a/b\c`: "c", "python3.11": "python3.11",
	} {
		if got := BaseName(command); got != want {
			t.Errorf("%s is %q, want %q", command, got, want)
		}
	}
}

// TestHostOf: what stands before the colon is of this machine.
func TestHostOf(t *testing.T) {
	t.Parallel()
	for spec, want := range map[string]string{"/a:/b": "/a", "/a:/b:ro": "/a", "/a": "/a", "name:/b": "name", `C:\x:/b`: `C:\x`, "C:/x:/b": "C:/x", "C:x": "C", "${A:-/x}/y:/b": "${A:-/x}/y", "$HOME/y:/b": "$HOME/y", "x${A:-/x}:/b": "x${A", ":/b": ""} {
		if got := HostOf(spec); got != want {
			t.Errorf("%s is %q, want %q", spec, got, want)
		}
	}
}

// TestLocalPartsOfWords: which part of a word names something on this machine, by its use. A dash is none.
func TestLocalPartsOfWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kind       Kind
		at         int
		text, want string
	}{
		{UsePath, 0, "/a", "/a"}, {UsePath, 2, "-o/a", "/a"}, {UsePath, 9, "-o/a", ""}, {UseText, 0, "/a", "-"}, {useRemote, 0, "/a", "-"}, {UseWorkdir, 0, "/a", "-"}, {UsePrint, 0, "/a", "-"}, {useHosts, 0, "/a", "-"}, {UseCode, 0, "/a", "/a"}, {useRest, 0, "/a", "/a"},
		{useWord, 0, "/a", "/a"}, {useWord, 0, "/", "-"}, {useWord, 0, "//", "-"}, {useWord, 0, "", "-"},
		{useData, 0, "@/a", "/a"}, {useData, 0, "/a", "-"}, {useData, 0, "a@/b", "-"}, {useData, 7, "--data=@/a", "/a"},
		{useHost, 0, "/a", "/a"}, {useHost, 0, "web:/a", "-"}, {useHost, 0, "me@web:a", "-"}, {useHost, 0, "[::2]:/a", "-"}, {useHost, 0, "localhost:/a", "localhost:/a"}, {useHost, 0, "127.0.0.1:/a", "127.0.0.1:/a"}, {useHost, 0, "./a:b", "./a:b"}, {useHost, 0, "scp://web/a", "scp://web/a"}, {useHost, 0, "a b:/c", "a b:/c"},
		{useBox, 0, "web:/a", "-"}, {useBox, 0, "ns/web:/a", "-"}, {useBox, 0, "/a", "/a"}, {useBox, 0, "./web:/a", "./web:/a"}, {useBox, 0, "a/b/web:/a", "a/b/web:/a"}, {useBox, 0, ".web:/a", ".web:/a"},
		{UseVolume, 0, "/a:/b", "/a"}, {UseVolume, 2, "-v/a:/b", "/a"},
		{UseMount, 0, "type=bind,source=/a,target=/b", "/a"}, {UseMount, 0, "type=volume,source=/a,target=/b", "type=volume,source=/a,target=/b"}, {UseMount, 0, "type=bind,source=/a,target=b", "type=bind,source=/a,target=b"}, {UseMount, 0, "type=bind,source=/a,target=/a", "type=bind,source=/a,target=/a"}, {UseMount, 0, "type=bind,source=,target=/b", "type=bind,source=,target=/b"}, {UseMount, 8, "--mount=type=bind,source=/a,target=/b", "/a"},
		{UseSed, 0, "s/a/b/", "-"}, {UseSed, 0, "s/a/b/w /c", "/c"}, {UseSed, 0, "r /a", "r /a"},
		{UseShell, 0, "/a", "/a"}, {UseShell, 0, "cat /a", "-"}, {UseShell, 0, "a;b", "-"}, {UseShell, 0, "a&b", "-"}, {UseShell, 0, "a|b", "-"},
	} {
		got, ok := Use{Kind: c.kind, At: c.at, Role: access.Read}.Local(c.text)
		if !ok {
			got = "-"
		}
		if got != c.want {
			t.Errorf("%s %s: got %q, want %q", kindNames[c.kind], c.text, got, c.want)
		}
	}
}
