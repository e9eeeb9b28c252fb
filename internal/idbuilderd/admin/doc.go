// SPDX-License-Identifier: Apache-2.0

// Package admin is the commands of operators: they ask a server, or work on the
// store that the settings name.
package admin
