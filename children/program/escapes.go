package program

import (
	"strings"

	"mcphub/children/sandbox"
	"mcphub/internal/commandline"
)

// Unheld returns why the kernel cannot confine the program; "" if it can.
func (prog Program) Unheld(k sandbox.Kernel) string {
	if why := prog.Escapes(); why != "" {
		return why
	}
	if k.Seatbelt != nil && prog.Sandbox.Default {
		return NotByDefault
	}
	if why := k.WhyNothing(); why != "" {
		return "no kernel enforcement here: " + why
	}
	return ""
}

// Escapes returns why no sandbox of this process confines what the program starts; "" if
// one does.
func (prog Program) Escapes() string {
	for _, command := range prog.allCommands() {
		if why := escapeReason(command); why != "" {
			return why
		}
	}
	return ""
}

// Why the sandbox of a program does not confine what the program starts.
const (
	inContainer      = "a container is started by another process, which no sandbox of this one holds"
	byAnotherProcess = "it has another process start the server, which no sandbox of this one holds"
	onAnotherMachine = "it starts the server on another machine, where nothing here holds it"
	AsAnotherUser    = "it starts the server with the rights of another user, which nobody gets in a sandbox"
	NotByDefault     = "on macOS the kernel holds a server only if hub.json says \"sandbox\": \"auto\" or \"required\": it is not proved yet that servers work so"
	InItsOwnSandbox  = "it starts the server in a sandbox of its own, which does not work inside of another"
)

// escapeReason works like Program.Escapes for one command.
func escapeReason(command string) string {
	if strings.HasPrefix(command, "/snap/bin/") {
		return InItsOwnSandbox
	}
	switch name, _, _ := commandline.LauncherOf(command); name {
	case "docker", "docker-compose", "podman-compose", "lxc", "incus", "toolbox", "distrobox", "distrobox-enter":
		return inContainer
	case "systemd-run", "machinectl", "run0":
		return byAnotherProcess
	case "ssh", "autossh", "mosh":
		return onAnotherMachine
	case "sudo", "doas", "su", "runuser", "pkexec":
		return AsAnotherUser
	case "snap", "flatpak", "bwrap":
		return InItsOwnSandbox
	}
	return ""
}

// allCommands returns the command of the program and the ones that wrap it, the innermost first.
func (prog Program) allCommands() []string {
	command, args := prog.Command, prog.Args
	all := []string{command}
	for at := commandline.Unwrap(command, args); at > 0; at = commandline.Unwrap(command, args) {
		command, args = args[at-1], args[at:]
		all = append([]string{command}, all...)
	}
	return all
}
