// SPDX-License-Identifier: Apache-2.0

// Package settings reads the configuration of the ID service: from a file in TOML,
// from the environment and from flags; later ones override earlier ones.
//
//	s, err := settings.Load(settings.Sources{
//		File:        "idbuilder.toml",
//		Environment: os.Environ(), // IDBUILDER__SERVER__PORT=9000
//		Flags:       map[string]string{"server.port": "9000"},
//	})
//
// A key that does not exist is an error that names the nearest one that does. All faults
// are reported at once, each with the key, the value, where it was set and what
// is allowed there: [*Error].
//
// # Names
//
// [Keys] lists the keys: those of the service's specification, and more. The
// names that the deployed worker gives to some of them are accepted as aliases, as are
// variables with its prefix, IDBUILDER_WORKER__. A key and its alias, or both variables of one key,
// are refused if one source sets them to different values.
//
// Durations are numbers of seconds, or texts such as "1m30s".
//
// # Secrets
//
// Tokens are of the type [Secret] and URLs of the type [URL]. Neither shows a
// password, however it is printed, encoded or logged. Flags are refused
// for secrets, because other users of the machine see the arguments of a
// process.
package settings
