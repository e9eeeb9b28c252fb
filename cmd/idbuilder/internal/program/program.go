// SPDX-License-Identifier: Apache-2.0

package program

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kazahana-db/kazahana/internal/idbuilder/settings"
	"github.com/kazahana-db/kazahana/internal/idbuilder/worker"
	"github.com/kazahana-db/kazahana/internal/nearest"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// Program is one run of the command idbuilder.
type Program struct {
	*shell.Console
	raw   shell.Streams // that do not escape
	flags flags
}

// New returns a run with arguments. Its output is escaped.
func New(args []string, streams shell.Streams) *Program {
	return &Program{Console: shell.NewConsole("idbuilder", args, streams), raw: streams}
}

// AddFlags adds the flags of the settings to the root of the commands.
func (p *Program) AddFlags(root *cobra.Command) {
	p.flags.addTo(root)
	root.SetFlagErrorFunc(explainFlag)
}

// Settings returns the settings of file, environment and flags.
func (p *Program) Settings(cmd *cobra.Command) (*settings.Settings, error) { return p.flags.load(cmd) }

// WithHome opens and initialises the store, calls do, and closes it.
func (p *Program) WithHome(ctx context.Context, cmd *cobra.Command, do func(*settings.Settings, Home) error) error {
	s, err := p.flags.load(cmd)
	if err != nil {
		return err
	}
	h, err := Open(ctx, s.Storage, p.Logger())
	if err != nil {
		return err
	}
	err = h.Initialise(ctx, s.Storage)
	if err == nil {
		err = do(s, h)
	}
	return errors.Join(err, h.Close())
}

// ServerLogger returns the logger that the settings describe, on the error output.
func (p *Program) ServerLogger(o settings.Observability) *slog.Logger {
	asJSON := o.LogFormat == "json"
	options := &slog.HandlerOptions{Level: levels[o.LogLevel], ReplaceAttr: nameTrace}
	out := shell.Escaping(p.raw.Err, &asJSON)
	if asJSON {
		return slog.New(slog.NewJSONHandler(out, options))
	}
	return slog.New(slog.NewTextHandler(out, options))
}

// configVariable is the environment variable that stands for --config.
const configVariable = "IDBUILDER_CONFIG"

// flags are the flags of all commands: those of the settings.
type flags struct {
	config string
	set    *pflag.FlagSet
}

// short has short flags for the most used settings.
var short = map[string]string{"host": "server.host", "port": "server.port", "backend": "storage.backend"}

// addTo adds the flags to a root. Those that are named by keys are not in the help, which would
// be long: see the command settings.
func (f *flags) addTo(root *cobra.Command) {
	f.set = root.PersistentFlags()
	f.set.StringVarP(&f.config, "config", "c", "", "`file` with settings, in TOML")
	for _, k := range settings.Keys() {
		for _, path := range append([]string{k.Path}, k.Aliases...) {
			addHidden(f.set, path, k)
		}
	}
	f.set.String("host", "", "`address` to listen at, server.host")
	f.set.StringP("port", "p", "", "`number` of the port, server.port; 0: a free one")
	f.set.StringP("backend", "b", "", "`kind` of store, storage.backend")
}

func addHidden(set *pflag.FlagSet, path string, k settings.Key) {
	flag := set.VarPF(new(text), path, "", k.About)
	flag.Hidden = true
	if k.Allowed == "true, false" {
		flag.NoOptDefVal = "true"
	}
}

// text is the value of a flag.
type text string

func (t *text) String() string     { return string(*t) }
func (t *text) Set(s string) error { *t = text(s); return nil }
func (t *text) Type() string       { return "value" }

// load returns the settings of file, environment and flags.
func (f *flags) load(cmd *cobra.Command) (*settings.Settings, error) {
	given, err := f.givenTexts(cmd)
	if err != nil {
		return nil, err
	}
	s, err := settings.Load(settings.Sources{
		File: cmp.Or(f.config, os.Getenv(configVariable)), Environment: os.Environ(), Flags: given,
	})
	return s, err
}

// givenTexts returns the texts of the flags in the arguments, by the paths of keys.
func (f *flags) givenTexts(cmd *cobra.Command) (given map[string]string, err error) {
	given = map[string]string{}
	f.set.VisitAll(func(flag *pflag.Flag) {
		if flag.Changed && strings.Contains(flag.Name, ".") {
			given[flag.Name] = flag.Value.String()
		}
	})
	for name, path := range short {
		if !f.set.Changed(name) {
			continue
		}
		value := f.set.Lookup(name).Value.String()
		if long, ok := given[path]; ok && long != value {
			err = shell.Misuse(cmd, fmt.Errorf("--%s and --%s are the same setting with two values", name, path))
		}
		given[path] = value
	}
	return given, err
}

// explainFlag adds the nearest flag to cobra's error for an unknown one.
func explainFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || len(unknown.GetSpecifiedName()) < 2 {
		return shell.Misuse(cmd, err)
	}
	var names []string
	add := func(f *pflag.Flag) { names = append(names, f.Name) }
	cmd.Flags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	near, _ := nearest.Word(unknown.GetSpecifiedName(), names)
	return shell.Misuse(cmd, fmt.Errorf("%w; did you mean --%s?", err, near))
}

// WorkerOptions returns the options of a worker.
func WorkerOptions(s *settings.Settings, log *slog.Logger) worker.Options {
	o := worker.Options{
		AdminToken:        s.Auth.AdminToken.Reveal(),
		TokenExpiry:       s.Auth.KeyTokenExpiration,
		Validity:          s.Auth.Cache,
		Outage:            orNone(s.Auth.Outage),
		BatchSize:         int64(s.Sequence.DefaultBatchSize),
		MaxBatch:          int64(max(s.Sequence.MaxBatchSize, s.Sequence.DefaultBatchSize)),
		PrefetchThreshold: min(s.Sequence.PrefetchThreshold.Of(s.Sequence.DefaultBatchSize), math.Nextafter(1, 0)), // 1 is not a share
		BatchDuration:     s.Sequence.Target,
		LeaseDuration:     s.Snowflake.LeaseDuration,
		LeaseHold:         s.Snowflake.Hold,
		LeaseSkew:         orNone(s.Snowflake.Skew),
		Rate:              s.Limits.RequestsPerSecond,
		Burst:             s.Limits.Burst,
		Timeout:           s.Limits.RequestTimeout,
		MaxBody:           int64(s.Limits.RequestBytes),
		Idle:              s.Sequence.Idle,
		Backend:           s.Storage.Backend,
		AdminApart:        s.Admin.Listen != "",
		Version:           shell.Version(),
		Logger:            log,
	}
	if o.PrefetchThreshold == 0 {
		o.PrefetchThreshold = math.SmallestNonzeroFloat64 // 0 would be the default
	}
	return o
}

// orNone returns a time as options have it, where 0 is the default.
func orNone(d time.Duration) time.Duration {
	if d == 0 {
		return -1
	}
	return d
}

// levelTrace is below debug.
const levelTrace = slog.LevelDebug - 4

var levels = map[string]slog.Level{
	"trace": levelTrace, "debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

// nameTrace gives the level trace its name, which slog does not know.
func nameTrace(groups []string, a slog.Attr) slog.Attr {
	if level, ok := a.Value.Any().(slog.Level); ok && len(groups) == 0 && a.Key == slog.LevelKey && level < slog.LevelDebug {
		a.Value = slog.StringValue("TRACE")
	}
	return a
}
