// SPDX-License-Identifier: Apache-2.0

package idbuilderd

import (
	"log/slog"

	"github.com/kazahana-db/kazahana/idbuilder/settings"
	"github.com/kazahana-db/kazahana/internal/shell"
)

// levelTrace is below debug.
const levelTrace = slog.LevelDebug - 4

var levels = map[string]slog.Level{
	"trace": levelTrace, "debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

// logger returns the log that the settings ask for, on the error output.
func (c *command) logger(o settings.Observability) *slog.Logger {
	asJSON := o.LogFormat == "json"
	options := &slog.HandlerOptions{Level: levels[o.LogLevel], ReplaceAttr: nameTrace}
	out := shell.Escaping(c.raw.Err, &asJSON)
	if asJSON {
		return slog.New(slog.NewJSONHandler(out, options))
	}
	return slog.New(slog.NewTextHandler(out, options))
}

// nameTrace gives the level trace its name, which slog does not know.
func nameTrace(groups []string, a slog.Attr) slog.Attr {
	if level, ok := a.Value.Any().(slog.Level); ok && len(groups) == 0 && a.Key == slog.LevelKey && level < slog.LevelDebug {
		a.Value = slog.StringValue("TRACE")
	}
	return a
}
