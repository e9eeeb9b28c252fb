// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// VersionCommand is the command that shows the version of the program.
func (c *Console) VersionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Show the version of the program", Args: Arguments(cobra.NoArgs),
		RunE: func(*cobra.Command, []string) error {
			return c.Write(build{c.Name, Version(), commit(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH})
		},
	}
}

// build says what a program was built from, and for what.
type build struct {
	program  string
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Lines implements [Result].
func (b build) Lines() []string {
	parts := []string{b.program + " " + b.Version}
	if b.Commit != "" {
		parts = append(parts, "commit "+b.Commit)
	}
	return []string{strings.Join(append(parts, b.Go+" "+b.Platform), ", ")}
}

// Version is that of the module. A program that was built in a clone, at a commit without a tag, has a
// pseudo-version.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(unknown)"
	}
	return info.Main.Version
}

// commit is the commit that the program was built from, in a clone. One that go install has built from the
// module proxy does not know it.
func commit() string {
	info, _ := debug.ReadBuildInfo()
	if info == nil {
		return ""
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value
		}
	}
	return ""
}
