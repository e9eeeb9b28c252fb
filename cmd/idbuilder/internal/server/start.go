// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/kazahana-db/kazahana/cmd/idbuilder/internal/program"
	"github.com/kazahana-db/kazahana/idbuilder/settings"
	"github.com/kazahana-db/kazahana/idbuilder/token"
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
func showStart(ctx context.Context, p *program.Program, s *settings.Settings, tokens *token.Authority, show start) error {
	text, err := tokens.MakeAdmin(ctx)
	switch {
	case err != nil:
		return err
	case text != "" && p.WritesTerminal():
		show.AdminToken = text
	case text != "":
		show.TokenFile = s.Auth.AdminTokenFile
		if err := keepToken(show.TokenFile, text); err != nil {
			return fmt.Errorf("auth.admin_token_file: the first admin token was made, and could not be written: %w; idbuilder token admin --reset makes another one", err)
		}
	}
	return p.Write(show)
}

// keepToken writes a token to a file that its owner alone can read.
func keepToken(path, text string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".admin-token-*") // with mode 0600
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.WriteString(text + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
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
