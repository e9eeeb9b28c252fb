// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/kazahana-db/kazahana/cmd/idbuilder/internal/console"
	"github.com/kazahana-db/kazahana/cmd/idbuilder/internal/otlp"
	"github.com/kazahana-db/kazahana/cmd/idbuilder/internal/program"
	"github.com/kazahana-db/kazahana/internal/idbuilder/settings"
	"github.com/kazahana-db/kazahana/internal/idbuilder/worker"
	"github.com/kazahana-db/kazahana/internal/shell"
)

func WorkerCommand(p *program.Program) *cobra.Command {
	return &cobra.Command{
		Use: "worker", Short: "Serve IDs over HTTP", Args: shell.Arguments(cobra.NoArgs),
		Long: `Serve IDs over HTTP until interrupted: requests under way are finished then, for as long as
server.shutdown_timeout says. A second signal ends at once.

Without any setting IDs are kept in the folder ./idbuilder-data, and served to programs of this machine,
at port 8080; --host 0.0.0.0 serves them to others. The first start shows the admin token on a terminal,
and otherwise writes it to the file of the setting auth.admin_token_file. It is stored hashed and not
shown again; idbuilder token admin --reset makes another one.`,
		Example: "  idbuilder worker --port 9000\n  idbuilder worker --config idbuilder.toml\n  IDBUILDER__STORAGE__POSTGRES__URL=postgresql://… idbuilder worker --backend postgresql",
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := p.Settings(cmd)
			if err != nil {
				return step(1, "load the configuration", err)
			}
			log := p.ServerLogger(s.Observability)
			for _, note := range s.Notes() {
				log.Warn("setting without effect", "note", note)
			}
			useThreads(s.Server.Workers)
			return runWorker(cmd.Context(), p, s, log)
		},
	}
}

// step adds the step of the start-up to an error. The steps are the specification's:
// 1 configuration, 2 log, 3 store, 4 to 7 its schema, under its lock, 8 registration with the
// controller, 9 the HTTP server.
func step(n int, what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("step %d of the start-up, %s: %w", n, what, err)
}

// useThreads bounds the threads that run at once. More threads than CPUs of the machine, or of
// its container, would only compete for them.
func useThreads(n int) {
	if n > 0 && n < runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(n)
	}
}

// runWorker serves until ctx ends.
func runWorker(ctx context.Context, p *program.Program, s *settings.Settings, log *slog.Logger) (err error) {
	if err := s.ValidateWorker(); err != nil {
		return step(1, "load the configuration", err)
	}
	traces, err := otlp.Start(ctx, "idbuilder", shell.Version(), log)
	if err != nil {
		return step(1, "load the configuration", err)
	}
	defer closeTraces(ctx, traces)
	h, err := program.Open(ctx, s.Storage, log)
	if err != nil {
		return step(3, "connect to the store", err)
	}
	defer func() { err = errors.Join(err, h.Close()) }()
	if err := h.Initialise(ctx, s.Storage); err != nil {
		return step(4, "initialise the schema of the store", err)
	}
	link, err := newLink(s, log)
	if err != nil {
		return step(8, "register with the controller", err)
	}
	o := program.WorkerOptions(s, log)
	hooks := worker.Hooks{Controller: link.state(), ControllerRequired: s.Controller.Required}
	if traces != nil {
		o.Tracer = traces
	}
	if s.Admin.Enabled {
		hooks.Console = func(w *worker.Worker) (http.Handler, error) {
			at, _ := addressOf(s) // it has none for others if its port is a free one
			return console.New(w, h, console.Options{
				Timeout: s.Limits.RequestTimeout, Workers: link.workers(), Logger: log, SecureCookie: s.Admin.SecureCookie,
				Address: at, Store: s.Storage.Backend + ", " + h.Where, Version: shell.Version(),
			})
		}
	}
	w, err := worker.New(h, o, hooks)
	if err != nil {
		return step(9, "start the server", err)
	}
	defer func() { err = errors.Join(err, closeWorker(ctx, w, s)) }()
	defer link.start(ctx, w)() // leaves the controller before the worker ends
	return serveWorker(ctx, p, s, h, w, log)
}

// closeTraces sends the spans that are left, if the collector takes them in time.
func closeTraces(ctx context.Context, traces *otlp.Traces) {
	if traces == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	traces.Close(ctx)
}

// closeWorker closes the worker, which first finishes its work in the background.
func closeWorker(ctx context.Context, w *worker.Worker, s *settings.Settings) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Server.ShutdownTimeout)
	defer cancel()
	return w.Close(ctx)
}

// serveWorker listens, shows where, and serves.
func serveWorker(ctx context.Context, p *program.Program, s *settings.Settings, h program.Home, w *worker.Worker, log *slog.Logger) error {
	sites, err := workerSites(s, w)
	if err != nil {
		return step(9, "start the server", err)
	}
	if err := showStart(ctx, p, s, w.Tokens(), startOf(s, h, sites).withConsole(s.Admin.Enabled)); err != nil {
		closeSites(sites)
		return step(9, "start the server", err)
	}
	log.Info("serving", "url", sites[0].url(), "backend", s.Storage.Backend, "store", h.Where, "version", shell.Version())
	return serve(ctx, sites, s, log)
}
