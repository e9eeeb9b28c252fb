// SPDX-License-Identifier: Apache-2.0

// Package admin has the commands of operators. They send requests to a server, or
// work on the store that the settings name.
package admin
