// Packaging builds everything that mcphub is installed from: archives for six platforms, Debian and
// RPM packages, npm packages, a container image, server.json for the MCP registry, a bill of
// materials and checksums.
//
//	go -C packaging run . -version 1.2.3
//
// It reads the repository that it lies in, needs Go and git (without git: SOURCE_DATE_EPOCH), and
// writes the same bytes whenever it is run on the same commit. The names and addresses that
// packages carry stand in project.json alone.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

func main() {
	version := flag.String("version", "0.1.0-dev", "version of the release, without a leading v")
	out := flag.String("out", "../dist", "folder to write to; what it holds of a release is replaced")
	only := flag.String("only", "", "build for this platform alone, such as linux/amd64")
	flag.Parse()
	if err := run(*version, *out, *only); err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		os.Exit(1)
	}
}

// project is what packages say about themselves: project.json.
type project struct {
	Name         string `json:"name"`
	Summary      string `json:"summary"`
	Homepage     string `json:"homepage"`
	Repository   string `json:"repository"`
	Maintainer   string `json:"maintainer"`
	License      string `json:"license"`
	NPMScope     string `json:"npmScope"`
	RegistryName string `json:"registryName"`
}

// release is one run: what is built, when its commit was made, and where it is written.
type release struct {
	project
	version    string
	time       time.Time
	out        string // folder of the finished files
	work       string // folder of what lies between, removed at the end
	platforms  []platform
	manual     []byte
	ownLicense []byte            // LICENSE
	notices    []byte            // THIRD_PARTY_LICENSES
	inImage    []byte            // the same, of the container image
	shells     map[string][]byte // completion scripts by shell
}

// platform is one target of the Go compiler, with its binary once that is built.
type platform struct {
	os, arch string
	binary   string
	image    string // the binary of the container image, which can export traces; "" if there is no image
}

// program returns the name of the binary on this platform.
func (p platform) program() string {
	if p.os == "windows" {
		return "mcphub.exe"
	}
	return "mcphub"
}

var platforms = []platform{
	{os: "linux", arch: "amd64"}, {os: "linux", arch: "arm64"},
	{os: "darwin", arch: "amd64"}, {os: "darwin", arch: "arm64"},
	{os: "windows", arch: "amd64"}, {os: "windows", arch: "arm64"},
}

// semver is the form that npm and the packages of Linux can both order.
var semver = regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

func run(version, out, only string) error {
	if !semver.MatchString(version) {
		return fmt.Errorf("version %q is not of the form 1.2.3 or 1.2.3-rc.1", version)
	}
	r := &release{version: version, out: out, shells: map[string][]byte{}}
	text, err := os.ReadFile("project.json")
	if err != nil {
		return fmt.Errorf("%w (run it in the folder packaging)", err)
	}
	if err := json.Unmarshal(text, &r.project); err != nil {
		return fmt.Errorf("project.json: %w", err)
	}
	for _, p := range platforms {
		if only == "" || only == p.os+"/"+p.arch {
			r.platforms = append(r.platforms, p)
		}
	}
	if len(r.platforms) == 0 {
		return fmt.Errorf("there is no platform %q", only)
	}
	if r.time, err = commitTime(); err != nil {
		return err
	}
	if r.work, err = os.MkdirTemp("", "mcphub-release-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.work)
	if err := r.clear(); err != nil {
		return err
	}
	for _, step := range []func() error{
		r.license, r.build, r.document, r.archives, r.linuxPackages, r.npmPackages, r.image, r.registryEntry, r.billOfMaterials, r.checksums,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// clear makes the folder to write to, and takes out of it what an earlier
// release left. Other files there are no one's to remove.
func (r *release) clear() error {
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if name := e.Name(); strings.HasPrefix(name, r.Name) || name == "server.json" || name == "SHA256SUMS" {
			if err := os.Remove(filepath.Join(r.out, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// commitTime returns the time that every file of the release
// carries: SOURCE_DATE_EPOCH, else the commit's.
func commitTime() (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		printed, err := exec.Command("git", "log", "-1", "--format=%ct").Output()
		if err != nil {
			return time.Time{}, fmt.Errorf("the time of the commit: %w (outside of a repository set SOURCE_DATE_EPOCH)", err)
		}
		text = strings.TrimSpace(string(printed))
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("the time of the commit: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// write writes one finished file and says so.
func (r *release) write(name string, content []byte) error {
	if err := os.WriteFile(filepath.Join(r.out, name), content, 0o644); err != nil {
		return err
	}
	fmt.Printf("%s, %.1f MB\n", name, float64(len(content))/1e6)
	return nil
}
