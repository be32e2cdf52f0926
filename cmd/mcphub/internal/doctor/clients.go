package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcphub/cmd/mcphub/internal/clients"
	"mcphub/internal/printable"
)

// examineClients reports for each client on this machine how the hub is registered in it.
func (e *examination) examineClients() {
	var without []*clients.Profile
	for i := range clients.All {
		c := &clients.All[i]
		if !c.IsInstalled(e.Clients) {
			continue
		}
		found, err := clients.Read(c, e.Clients)
		out := InstalledClient{Name: c.Name, Title: c.Title, GivesRoots: c.Roots == clients.GivesRoots || c.Roots == clients.ListsRoots}
		if len(found.Files) > 0 {
			out.File = found.Files[0]
		}
		if err != nil {
			e.addFinding(Clients, sevWarning, "its configuration cannot be read: "+printable.Clean(err.Error()), "mend the file at that place").Subject = c.Name
		} else {
			out.Registered, out.Roots, out.Program = found.Registered, found.HubRoots, found.HubProgram
			if found.Registered == "" {
				without = append(without, c)
			} else {
				e.examineRegistered(c, &out)
			}
		}
		e.report.Clients = append(e.report.Clients, out)
	}
	severity := sevNote // a person may use a client without the hub
	if len(without) == len(e.report.Clients) {
		severity = sevWarning
	}
	for _, c := range without {
		e.report.addFinding(Finding{Group: Clients, Subject: c.Name, Severity: severity, Text: c.Title + " is installed, and the hub is not registered in it",
			Cure: "register it", Command: e.installCommand(c)})
	}
}

// installCommand returns the command that registers the hub in a client.
func (e *examination) installCommand(c *clients.Profile) string {
	words := []string{"install", c.Name, "--yes"}
	if c.Roots == clients.NoRoots {
		words = words[:2] // it asks for the folders
	}
	return e.commandLine(words...)
}

// reinstallCommand returns the command that registers the hub in a client again.
func (e *examination) reinstallCommand(c *clients.Profile) string {
	if slices.Contains(e.Changed, c.Name) {
		return e.installCommand(c)
	}
	return printable.CommandLine([]string{"mcphub", "uninstall", c.Name}) + " && " + e.installCommand(c)
}

// examineRegistered looks at how a client starts the hub.
func (e *examination) examineRegistered(c *clients.Profile, out *InstalledClient) {
	report := func(severity, text, cure, command string) {
		e.report.addFinding(Finding{Group: Clients, Subject: c.Name, Severity: severity, At: out.File, Text: text, Cure: cure, Command: command})
	}
	program := ""
	if len(out.Program) > 0 {
		program = out.Program[0]
	}
	switch info, err := os.Stat(program); {
	case !filepath.IsAbs(program): // looked up by the client, in a PATH of its own
	case err != nil:
		report(sevError, fmt.Sprintf("it starts the hub as %s, and nothing is there", program), "register the hub again", e.reinstallCommand(c))
		return
	default:
		own, err := os.Stat(e.Own.Command)
		if base := filepath.Base(program); err == nil && strings.TrimSuffix(base, ".exe") == clients.HubName && !os.SameFile(info, own) {
			report(sevWarning, fmt.Sprintf("it starts %s, which is another mcphub than this (%s)", program, e.Own.Command), "register this one, if it is the one that is meant", e.reinstallCommand(c))
		}
	}
	for i, a := range out.Program {
		file, named := strings.CutPrefix(a, "--config=")
		if (a == "--config" || a == "-c") && i+1 < len(out.Program) {
			file, named = out.Program[i+1], true
		}
		if _, err := os.Stat(file); named && filepath.IsAbs(file) && err != nil {
			report(sevError, fmt.Sprintf("it has the hub read %s, and there is no such file", file), "register the hub again", e.reinstallCommand(c))
			return
		}
	}
	for _, dir := range out.Roots {
		if _, err := os.Stat(dir); filepath.IsAbs(dir) && !strings.ContainsAny(dir, "*?[{") && err != nil {
			report(sevError, fmt.Sprintf("the hub is registered with the folder %s, which is not there: it does not start", dir), "make the folder, or name another with mcphub install "+c.Name+" --roots DIR",
				printable.CommandLine([]string{"mkdir", "-p", dir}))
		}
	}
	if !out.GivesRoots && len(out.Roots) == 0 && e.found.Whole && e.found.Hub.Fallback.IsEmpty() {
		report(sevWarning, c.Title+" does not tell which folders are open, and the hub is registered with none: no boundary holds", "name the folders; this takes the one in which it is run", e.commandLine("install", c.Name, "--roots", "."))
	}
}
