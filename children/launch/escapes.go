package launch

import (
	"strings"

	"mcphub/children/sandbox"
)

// Unheld says why a kernel can hold nothing of what the program does; "" where it can.
func (prog Program) Unheld(k sandbox.Kernel) string {
	if why := prog.escapes(); why != "" {
		return why
	}
	if k.ABI == 0 {
		return "no kernel enforcement here: " + k.Why
	}
	return ""
}

// escapes says why what the program starts cannot be held; "" where it can.
func (prog Program) escapes() string {
	for _, command := range prog.commands() {
		if why := escapes(command); why != "" {
			return why
		}
	}
	return ""
}

// Why what a program starts is not held with it.
const (
	inContainer = "a container is started by another process, which no sandbox of this one holds"
	byAnother   = "it has another process start the server, which no sandbox of this one holds"
	onOther     = "it starts the server on another machine, where nothing here holds it"
	asOther     = "it starts the server with the rights of another user, which nobody gets in a sandbox"
	inItsOwn    = "it starts the server in a sandbox of its own, which does not work inside of another"
)

// escapes says why what a command starts cannot be held; "" where it can.
func escapes(command string) string {
	if strings.HasPrefix(command, "/snap/bin/") {
		return inItsOwn
	}
	switch name, _, _ := launcherOf(command); name {
	case "docker", "docker-compose", "podman-compose", "lxc", "incus", "toolbox", "distrobox", "distrobox-enter":
		return inContainer
	case "systemd-run", "machinectl", "run0":
		return byAnother
	case "ssh", "autossh", "mosh":
		return onOther
	case "sudo", "doas", "su", "runuser", "pkexec":
		return asOther
	case "snap", "flatpak", "bwrap":
		return inItsOwn
	}
	return ""
}

// commands are the command of the program, and those that wrap it: the innermost first.
func (prog Program) commands() []string {
	command, args := prog.Command, prog.Args
	all := []string{command}
	for at := unwrap(command, args); at > 0; at = unwrap(command, args) {
		command, args = args[at-1], args[at:]
		all = append([]string{command}, all...)
	}
	return all
}
