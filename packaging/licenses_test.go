package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// TestEveryModuleHasItsLicence compares the licences with what binaries say about themselves.
func TestEveryModuleHasItsLicence(t *testing.T) {
	r := made(t)
	for _, tc := range []struct {
		os, arch, tags string
		notices        []byte
	}{{"", "", "", r.notices}, {"windows", "amd64", "", r.notices}, {"linux", "", imageTags, r.inImage}} {
		binary := filepath.Join(t.TempDir(), "mcphub")
		if err := r.compile(tc.os, tc.arch, tc.tags, binary); err != nil {
			t.Fatal(err)
		}
		info, err := buildinfo.ReadFile(binary)
		if err != nil {
			t.Fatal(err)
		}
		if len(info.Deps) == 0 {
			t.Fatal("a binary without modules")
		}
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			if !bytes.Contains(tc.notices, []byte("\n"+m.Path+" "+m.Version+": ")) {
				t.Errorf("%s %s has no licence in %s", m.Path, m.Version, thirdParty)
			}
		}
	}
	if sdk := []byte("\ngo.opentelemetry.io/otel/sdk "); bytes.Contains(r.notices, sdk) || !bytes.Contains(r.inImage, sdk) {
		t.Error("the exporter of traces is to be in the image, and in nothing else")
	}
	for _, want := range []string{"\nGo 1.", "Redistribution and use in source", "Apache License", "Permission is hereby granted"} {
		if !bytes.Contains(r.notices, []byte(want)) {
			t.Errorf("%q is missing", want)
		}
	}
}

// TestAModuleWithoutLicence: nothing is released then.
func TestAModuleWithoutLicence(t *testing.T) {
	root := t.TempDir()
	part := filepath.Join(root, "part")
	if err := os.Mkdir(part, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"license.go", "licensed.txt", "README.md"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m := []module{{"example.com/m v1.0.0", []string{root, part}}}
	if _, err := notices(m); err == nil || !strings.Contains(err.Error(), "example.com/m v1.0.0 has no licence") {
		t.Errorf("got %v", err)
	}
	for _, name := range []string{"LICENCE.txt", "part/NOTICE", "part/LICENSE-APACHE"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte("text of "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := notices(m)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"LICENCE.txt", "part/NOTICE", "part/LICENSE-APACHE"} {
		if !bytes.Contains(text, []byte("example.com/m v1.0.0: "+want+"\n\ntext of "+want)) {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
}

// TestEveryPackageHasTheLicences looks into what people install. A .deb and an .rpm are
// made of the same list of files.
func TestEveryPackageHasTheLicences(t *testing.T) {
	r := made(t)
	for _, step := range []func() error{r.archives, r.npmPackages} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	entries, err := os.ReadDir(r.out)
	if err != nil {
		t.Fatal(err)
	}
	looked := 0
	for _, e := range entries {
		packed, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		if e.Name() == "mcphub-"+r.version+".tgz" {
			continue // it has no program
		}
		looked++
		if got := unpacked(t, packed)[thirdParty]; !bytes.Equal(got, r.notices) {
			t.Errorf("%s has %d bytes of licences, want %d", e.Name(), len(got), len(r.notices))
		}
	}
	if looked != 12 {
		t.Errorf("%d packages", looked)
	}
	for _, p := range r.platforms[:2] {
		installed, err := r.installed(p)
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for _, f := range installed {
			if f.Destination == "/usr/share/doc/mcphub/"+thirdParty {
				text, err := os.ReadFile(f.Source)
				found = err == nil && bytes.Equal(text, r.notices)
			}
		}
		if !found {
			t.Error("Linux packages have no licences")
		}
		img, err := r.platformImage(p)
		if err != nil {
			t.Fatal(err)
		}
		layers := mutate.Extract(img)
		if files := untarred(t, layers); !bytes.Equal(files[thirdParty], r.inImage) || len(files["copyright"]) == 0 {
			t.Error("the image has no licences")
		}
		if err := layers.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// unpacked returns what an archive holds, by the last part of the name.
func unpacked(t *testing.T, packed []byte) map[string][]byte {
	t.Helper()
	if !bytes.HasPrefix(packed, []byte("PK")) {
		gz, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		return untarred(t, gz)
	}
	archive, err := zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string][]byte{}
	for _, f := range archive.File {
		content, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if files[path.Base(f.Name)], err = io.ReadAll(content); err != nil {
			t.Fatal(err)
		}
		if err := content.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return files
}

func untarred(t *testing.T, from io.Reader) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for archive := tar.NewReader(from); ; {
		header, err := archive.Next()
		if err == io.EOF {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[path.Base(header.Name)], err = io.ReadAll(archive); err != nil {
			t.Fatal(err)
		}
	}
}
