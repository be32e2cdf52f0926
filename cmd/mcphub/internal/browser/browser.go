package browser

import (
	"errors"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strings"
)

// Open opens a page. The error reports why no browser was started; that it shows the
// page is not known.
func Open(address string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.HasPrefix(address, "-") {
		return errors.New("it is no page of the web")
	}
	name, args := findOpener(runtime.GOOS, os.Getenv)
	if name == "" {
		return errors.New("there is no display")
	}
	cmd := exec.Command(name, append(args, u.String())...)
	if err := cmd.Start(); err != nil {
		return errors.New("there is no " + name)
	}
	go func() { _ = cmd.Wait() }() // a browser that this has started may run for days
	return nil
}

// findOpener returns the program that opens pages; "" if there is no display.
func findOpener(goos string, env func(string) string) (name string, args []string) {
	switch {
	case goos == "windows":
		return "rundll32", []string{"url.dll,FileProtocolHandler"}
	case goos == "darwin":
		return "open", nil
	case env("DISPLAY") == "" && env("WAYLAND_DISPLAY") == "":
		return "", nil
	}
	return "xdg-open", nil
}
