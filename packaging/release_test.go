package main

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// made returns a release whose program is a few bytes.
func made(t *testing.T) *release {
	t.Helper()
	text, err := os.ReadFile("project.json")
	if err != nil {
		t.Fatal(err)
	}
	r := &release{version: "1.2.3-rc.1", time: time.Unix(1_700_000_000, 0).UTC(), out: t.TempDir(), work: t.TempDir(),
		manual: []byte(".TH MCPHUB 1\n"), shells: map[string][]byte{"bash": []byte("b"), "zsh": []byte("z"), "fish": []byte("f")}}
	if err := json.Unmarshal(text, &r.project); err != nil {
		t.Fatal(err)
	}
	for _, p := range platforms {
		p.binary = filepath.Join(r.work, p.os+p.arch)
		if err := os.WriteFile(p.binary, []byte(p.os+p.arch), 0o755); err != nil {
			t.Fatal(err)
		}
		p.image = p.binary + "-image"
		if err := os.WriteFile(p.image, []byte("the image's "+p.os+p.arch), 0o755); err != nil {
			t.Fatal(err)
		}
		r.platforms = append(r.platforms, p)
	}
	if err := r.license(); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestNamesInTheReadme: the files that README.md has a person install are the ones that are built.
func TestNamesInTheReadme(t *testing.T) {
	r := made(t)
	r.version = "1.2.3"
	for _, step := range []func() error{r.archives, r.linuxPackages, r.npmPackages} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`mcphub[-_a-z0-9]*VERSION[-_.a-z0-9]*`).FindAllString(string(text), -1)
	for _, name := range names {
		name = strings.ReplaceAll(name, "VERSION", r.version)
		if _, err := os.Stat(filepath.Join(r.out, name)); err != nil {
			t.Errorf("README.md names %s: %v", name, err)
		}
	}
	if len(names) < 5 {
		t.Errorf("%v", names)
	}
}

// TestSameBytes makes every package twice, from files of other folders and
// other times of change, and compares the checksums.
func TestSameBytes(t *testing.T) {
	var sums [2][]byte
	for i := range sums {
		r := made(t)
		for _, step := range []func() error{r.archives, r.linuxPackages, r.npmPackages, r.image, r.registryEntry, r.checksums} {
			if err := step(); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		if sums[i], err = os.ReadFile(filepath.Join(r.out, "SHA256SUMS")); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(sums[0], sums[1]) {
		t.Errorf("two runs differ:\n%s\n%s", sums[0], sums[1])
	}
	// Six archives, two packages for each of two platforms of Linux, seven npm packages, the image, server.json.
	if got := bytes.Count(sums[0], []byte("\n")); got != 6+4+7+1+1 {
		t.Errorf("%d files:\n%s", got, sums[0])
	}
}

// TestImage reads the image back as a container engine does.
func TestImage(t *testing.T) {
	r := made(t)
	if err := r.image(); err != nil {
		t.Fatal(err)
	}
	packed, err := os.Open(filepath.Join(r.out, "mcphub-1.2.3-rc.1-oci.tar"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	folder := t.TempDir()
	for files := tar.NewReader(packed); ; {
		header, err := files.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(files)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.Join(folder, filepath.FromSlash(header.Name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	index, err := layout.ImageIndexFromPath(folder)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(index); err != nil {
		t.Error(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	if len(manifest.Manifests) != 2 {
		t.Fatalf("%d platforms, want 2", len(manifest.Manifests))
	}
	img, err := index.Image(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.User != "65532:65532" || config.Architecture != "amd64" || config.Config.Entrypoint[0] != "/usr/bin/mcphub" {
		t.Errorf("config %+v", config.Config)
	}
}
