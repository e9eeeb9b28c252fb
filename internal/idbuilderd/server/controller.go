// SPDX-License-Identifier: Apache-2.0

package server

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
	"github.com/kazahana-db/kazahana/internal/idbuilderd/program"
	"github.com/kazahana-db/kazahana/internal/shell"
)

func ControllerCommand(p *program.Program) *cobra.Command {
	return &cobra.Command{
		Use: "controller", Short: "Keep account of the workers of a service", Args: shell.Arguments(cobra.NoArgs),
		Long: `Keep account of the workers of a service, until interrupted: which live, how busy they are, and where clients
reach them. It works on the store of the workers, and takes the same admin token. Any number of controllers
may run. No ID depends on one: workers that have lost all of them go on.`,
		Example: "  idbuilder controller --port 8090 --config idbuilder.toml",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := p.Settings(cmd)
			if err != nil {
				return step(1, "load the configuration", err)
			}
			useThreads(s.Server.Workers)
			return runController(cmd.Context(), p, s, p.ServerLogger(s.Observability))
		},
	}
}

// runController serves until ctx ends.
func runController(ctx context.Context, p *program.Program, s *settings.Settings, log *slog.Logger) (err error) {
	h, err := program.Open(ctx, s.Storage, log)
	if err != nil {
		return step(3, "connect to the store", err)
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	if err := h.Initialise(ctx, s.Storage); err != nil {
		return step(4, "initialise the schema of the store", err)
	}
	watch, err := revision.New(h, revision.Options{Validity: s.Auth.Cache})
	if err != nil {
		return step(9, "start the server", err)
	}
	defer watch.Close()
	tokens, err := token.New(h, watch, program.WorkerOptions(s, log).Tokens)
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
	return serveController(ctx, p, s, h, tokens, accounts, log)
}

// serveController listens, shows where, and serves.
func serveController(ctx context.Context, p *program.Program, s *settings.Settings, h program.Home, tokens *token.Authority, accounts *controller.Controller, log *slog.Logger) error {
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
		err = p.Write(startOf(s, h, sites, text))
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

// authorize returns a function that checks the tokens of requests.
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
