// SPDX-License-Identifier: Apache-2.0

package server

import (
	"cmp"

	"github.com/kazahana-db/kazahana/idbuilder/settings"
	"github.com/kazahana-db/kazahana/internal/idbuilderd/program"
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
	AdminToken string `json:"admin_token,omitempty"` // only when it was made
}

func startOf(s *settings.Settings, h program.Home, sites []*site, token string) start {
	show := start{serves: "IDs", URL: sites[0].url(), Backend: s.Storage.Backend, Store: h.Where, AdminToken: token}
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
	lines := shell.Fields(pairs...)
	if s.AdminToken != "" {
		lines = append(lines, "This token is not shown again. idbuilder token admin --reset makes another one.")
	}
	return lines
}
