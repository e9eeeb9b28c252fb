// SPDX-License-Identifier: Apache-2.0

package idbuilderd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/idbuilder/api"
	"github.com/kazahana-db/kazahana/idbuilder/controller"
	"github.com/kazahana-db/kazahana/idbuilder/revision"
	"github.com/kazahana-db/kazahana/idbuilder/settings"
	"github.com/kazahana-db/kazahana/idbuilder/token"
	"github.com/kazahana-db/kazahana/internal/shell"
)

func (c *command) controller() *cobra.Command {
	return &cobra.Command{
		Use: "controller", Short: "Keep account of the workers of a service", Args: shell.Arguments(cobra.NoArgs),
		Long: `Keep account of the workers of a service, until interrupted: which live, how busy they are, and where clients
reach them. It works on the store of the workers, and takes the same admin token. Any number of controllers
may run. No ID depends on one: workers that have lost all of them go on.`,
		Example: "  idbuilder controller --port 8090 --config idbuilder.toml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := c.flags.load(cmd)
			if err != nil {
				return step(1, "load the configuration", err)
			}
			useThreads(s.Server.Workers)
			return c.runController(cmd.Context(), s, c.logger(s.Observability))
		},
	}
}

// runController serves until ctx ends.
func (c *command) runController(ctx context.Context, s *settings.Settings, log *slog.Logger) (err error) {
	h, err := open(ctx, s.Storage, log)
	if err != nil {
		return step(3, "connect to the store", err)
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	if err := initialise(ctx, s.Storage, h); err != nil {
		return step(4, "initialise the schema of the store", err)
	}
	watch, err := revision.New(h, revision.Options{Validity: s.Auth.Cache})
	if err != nil {
		return step(9, "start the server", err)
	}
	defer watch.Close()
	tokens, err := token.New(h, watch, options(s, log).Tokens)
	if err != nil {
		return step(9, "start the server", err)
	}
	accounts, err := controller.New(h, controller.Options{
		Authorize:        authorize(tokens, func(who token.Identity) bool { return who.Admin }),
		AuthorizeBalance: authorize(tokens, func(token.Identity) bool { return true }),
		Heartbeat:        s.Controller.HeartbeatInterval, Timeout: s.Limits.RequestTimeout, Logger: log,
	})
	if err != nil {
		return step(9, "start the server", err)
	}
	return c.serveController(ctx, s, h, tokens, accounts, log)
}

// serveController listens, shows where, and serves.
func (c *command) serveController(ctx context.Context, s *settings.Settings, h home, tokens *token.Authority, accounts *controller.Controller, log *slog.Logger) error {
	secure, err := tlsConfig(s.Server)
	if err != nil {
		return step(9, "start the server", err)
	}
	mux := http.NewServeMux()
	mux.Handle("/", accounts.Handler())
	mux.HandleFunc("GET /health", healthy)
	at, err := newSite(serverKey, address(s.Server.Host, s.Server.Port), mux, secure)
	if err != nil {
		return step(9, "start the server", err)
	}
	sites := []*site{at}
	text, err := tokens.MakeAdmin(ctx)
	if err == nil {
		err = c.Write(startOf(s, h, sites, text))
	}
	if err != nil {
		closeSites(sites)
		return step(9, "start the server", err)
	}
	running, stop := context.WithCancel(ctx)
	done := make(chan error, 1)
	go func() { done <- accounts.Run(running) }()
	err = serve(ctx, sites, s, log)
	stop()
	<-done // the cause of running
	return err
}

func healthy(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"code":0,"message":"success","data":{"status":"healthy","version":%q}}`, shell.Version())
}

// authorize returns a check of requests' tokens.
func authorize(tokens *token.Authority, permits func(token.Identity) bool) func(*http.Request) error {
	return func(r *http.Request) error {
		text := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
		if text == "" {
			return api.Errorf(api.Authentication, "Authorization: there is no token")
		}
		who, err := tokens.Check(r.Context(), text)
		switch {
		case errors.Is(err, token.ErrInvalid), errors.Is(err, token.ErrExpired):
			return api.Errorf(api.Authentication, "Authorization: the token is unknown or has expired")
		case err != nil:
			return &api.Error{Code: api.Unavailable, Message: "the token cannot be checked now", Err: err}
		case !permits(who):
			return api.Errorf(api.Authorization, "Authorization: this needs the admin token")
		}
		return nil
	}
}

func (c *command) workers() *cobra.Command {
	var at serviceFlags
	cmd := &cobra.Command{
		Use: "workers", Short: "List the workers that a controller knows", Args: shell.Arguments(cobra.NoArgs),
		Example: "  idbuilder workers --server http://controller:8090 --token-file admin-token",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !at.names() {
				return shell.Misuse(cmd, errors.New("name a controller, with --server or "+serverVariable))
			}
			return at.with(c, cmd, func(ctx context.Context, s *service) error {
				var data struct {
					Items []parameters `json:"items"`
				}
				if err := s.call(ctx, http.MethodGet, controller.WorkersPath, nil, nil, &data); err != nil {
					return err
				}
				for _, w := range data.Items {
					if err := c.Write(w); err != nil {
						return err
					}
				}
				return nil
			})
		},
	}
	at.add(cmd)
	return cmd
}
