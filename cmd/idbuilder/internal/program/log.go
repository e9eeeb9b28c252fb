// SPDX-License-Identifier: Apache-2.0

package program

import (
	"log/slog"
)

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
