// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/kazahana-db/kazahana/cmd/idbuilder/internal/program"
	"github.com/kazahana-db/kazahana/internal/idbuilder/settings"
	"github.com/kazahana-db/kazahana/internal/idbuilder/token"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// start is the output of a server when it begins to serve.
type start struct {
	serves     string // IDs, or "controller"
	URL        string `json:"url"`
	Admin      string `json:"admin,omitempty"` // address of its own for administrators
	Console    string `json:"console,omitempty"`
	Metrics    string `json:"metrics,omitempty"` // of their own
	Backend    string `json:"backend"`
	Store      string `json:"store"`
	AdminToken string `json:"admin_token,omitempty"` // only when it was made, and for a terminal
	TokenFile  string `json:"admin_token_file,omitempty"`
}

// showStart makes the first admin token, and shows where the server is. A terminal is shown the token,
// too; for anything else it goes to a file, since the output may be a log that others read.
func showStart(ctx context.Context, p *program.Program, s *settings.Settings, tokens *token.Authority, show start) (err error) {
	if p.WritesTerminal() {
		show.AdminToken, err = tokens.MakeAdmin(ctx)
	} else {
		show.TokenFile, err = keepFirst(ctx, tokens, s.Auth.AdminTokenFile)
	}
	if err != nil && show.AdminToken == "" {
		return err
	}
	return errors.Join(err, p.Write(show)) // after an error, too: the token may be the only one that is valid
}

// keepFirst makes the first admin token, and returns the name of the file that has it, "" if no token
// was made. The text is on the disk before the token is valid, in a file of its own, which gets
// the name after that. Where a start ended between the two, the next one gives the file its name.
func keepFirst(ctx context.Context, tokens *token.Authority, file string) (string, error) {
	partial := ""
	text, err := tokens.KeepAdmin(ctx, func(text string) (err error) {
		discard(partial) // of an attempt that others have overtaken
		if partial, err = keepToken(file, text); err != nil {
			err = fmt.Errorf("auth.admin_token_file: no admin token was made, since it cannot be written to the disk: %w", err)
		}
		return err
	})
	switch {
	case text == "" && (err != nil || partial != ""):
		discard(partial)
		return "", err
	case err != nil:
		return "", fmt.Errorf("the admin token in %s may be valid: %w; start again: that finds out, and names the file", partial, err)
	case text == "":
		if partial = findPartial(ctx, tokens, file); partial == "" {
			return "", nil
		}
	}
	if err := errors.Join(os.Rename(partial, file), shell.SyncFolder(filepath.Dir(file))); err != nil {
		return "", fmt.Errorf("auth.admin_token_file: the first admin token was made, and is in %s: %w", partial, err)
	}
	return file, nil
}

// partialName returns the beginning of the names of files that have a token and not yet their own name.
func partialName(file string) string { return "." + filepath.Base(file) + ".partial-" }

// keepToken writes a token to the disk, to a file that its owner alone can read.
func keepToken(file, text string) (partial string, err error) {
	f, err := os.CreateTemp(filepath.Dir(file), partialName(file)+"*") // with mode 0600
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(text + "\n")
	if err = errors.Join(err, f.Sync(), f.Close(), shell.SyncFolder(filepath.Dir(file))); err != nil {
		discard(f.Name())
		return "", err
	}
	return f.Name(), nil
}

// discard removes a file with a text that is of no token. If it stays it has no effect.
func discard(partial string) {
	if partial != "" {
		_ = os.Remove(partial)
	}
}

// findPartial returns the file with a valid admin token that a start before has not given its name.
func findPartial(ctx context.Context, tokens *token.Authority, file string) string {
	entries, _ := os.ReadDir(filepath.Dir(file)) // a folder that cannot be read has no token for this process
	for _, entry := range entries {
		if !strings.HasPrefix(entry.Name(), partialName(file)) {
			continue
		}
		partial := filepath.Join(filepath.Dir(file), entry.Name())
		text, err := os.ReadFile(partial)
		if err != nil {
			continue
		}
		if who, err := tokens.Check(ctx, strings.TrimSpace(string(text))); err == nil && who.Admin {
			return partial
		}
	}
	return ""
}

func startOf(s *settings.Settings, h program.Home, sites []*site) start {
	show := start{serves: "IDs", URL: sites[0].url(), Backend: s.Storage.Backend, Store: h.Where}
	for _, at := range sites[1:] {
		switch at.key {
		case adminKey:
			show.Admin = at.url()
		case metricsKey:
			show.Metrics = at.url() + s.Observability.Metrics.Path
		}
	}
	return show
}

// ofController says that the server gives no IDs.
func (s start) ofController() start {
	s.serves = "controller"
	return s
}

// withConsole adds the URL of the console, if there is one.
func (s start) withConsole(enabled bool) start {
	if enabled {
		s.Console = cmp.Or(s.Admin, s.URL) + "/admin/"
	}
	return s
}

// Lines implements [shell.Result].
func (s start) Lines() []string {
	pairs := []any{s.serves, s.URL}
	add := func(name, value string) {
		if value != "" {
			pairs = append(pairs, name, value)
		}
	}
	add("administration", s.Admin)
	add("console", s.Console)
	add("metrics", s.Metrics)
	add("store", s.Backend+", "+s.Store)
	add("admin token", s.AdminToken)
	add("admin token in", s.TokenFile)
	lines := shell.Fields(pairs...)
	if s.AdminToken != "" {
		lines = append(lines, "This token is not shown again. idbuilder token admin --reset makes another one.")
	}
	return lines
}
