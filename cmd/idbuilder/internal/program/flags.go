// SPDX-License-Identifier: Apache-2.0

package program

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kazahana-db/kazahana/internal/idbuilder/settings"
	"github.com/kazahana-db/kazahana/internal/nearest"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// configVariable is the environment variable behind --config.
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
