package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// build compiles the program for each platform.
func (r *release) build() error {
	for i, p := range r.platforms {
		r.platforms[i].binary = filepath.Join(r.work, p.os+"-"+p.arch, p.program())
		if err := r.compile(p.os, p.arch, "", r.platforms[i].binary); err != nil {
			return err
		}
		if p.os != "linux" {
			continue
		}
		r.platforms[i].image = filepath.Join(r.work, "image-"+p.arch, p.program())
		if err := r.compile(p.os, p.arch, imageTags, r.platforms[i].image); err != nil {
			return err
		}
	}
	return nil
}

// imageTags are the build tags of the program in the container image: a hub for many exports traces.
const imageTags = "otlp"

// compile builds one binary, without paths of this machine and without cgo.
func (r *release) compile(goos, goarch, tags, file string) error {
	args := []string{"build", "-trimpath", "-buildvcs=false", "-tags", tags, "-ldflags", "-s -w -X main.version=" + r.version, "-o", file, "./cmd/mcphub"}
	cmd := exec.Command("go", args...)
	cmd.Dir = ".."
	cmd.Env = platform{os: goos, arch: goarch}.environ()
	if printed, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build for %s/%s: %w\n%s", goos, goarch, err, printed)
	}
	return nil
}

// environ returns the environ of Go for this platform.
func (p platform) environ() []string {
	return append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off", "GOOS="+p.os, "GOARCH="+p.arch)
}

// document has a program for this machine print its manual and its completion scripts.
func (r *release) document() error {
	host := filepath.Join(r.work, "host", "mcphub")
	if err := r.compile("", "", "", host); err != nil {
		return err
	}
	var err error
	if r.manual, err = output(host, "man"); err != nil {
		return err
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if r.shells[shell], err = output(host, "completion", shell); err != nil {
			return err
		}
	}
	return nil
}

func output(program string, args ...string) ([]byte, error) {
	printed, err := exec.Command(program, args...).Output()
	if err != nil {
		return nil, fmt.Errorf("mcphub %v: %w", args, err)
	}
	return printed, nil
}
