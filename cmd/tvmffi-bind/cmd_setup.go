package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/console"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/probe"
	"github.com/tvmffi-go/tvmffi/cmd/tvmffi-bind/internal/project"
	"github.com/tvmffi-go/tvmffi/internal/find"
	"github.com/tvmffi-go/tvmffi/internal/wheel"
)

// ofPackage says which Python package libtvm_ffi is from. The version of the package
// differs from the version of the C API, which an official wheel sets to the next release.
func ofPackage(lib probe.Library) string {
	if lib.Identity.PackageVersion == "" {
		return ""
	}
	return " from " + project.CorePackage + " " + lib.Identity.PackageVersion
}

func newSetup(con *console.Console, p *probe.Prober) *cobra.Command {
	var version, to string
	var only []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "setup [NAME[==VERSION]|WHEEL]... [--version V]",
		Short: "Find or install libtvm_ffi, or the libraries of a package, and print their paths",
		Long: `setup looks for libtvm_ffi: in TVMFFI_LIBRARY, in the cache of this tool and in
installed Python packages. If there is none, it downloads the official wheel with
pip or uv, checks its hash and unpacks it into the cache. It also compares
every file in the cache with the hash that its wheel names, and downloads a damaged
wheel again. Programs need no Python afterwards.

With the name of a Python package or the file of a wheel, setup does the same for the
libraries of TVM-FFI in it and for what they need: the libtvm_ffi that fits them, and
libraries of other packages. It loads them, and fails if one is missing. A program that imports
committed bindings, such as the bindings of generated/xgrammar, finds them there. For
` + strings.Join(project.KnownNames(), ", ") + `
the versions and their hashes are known.

With --to, setup copies the libraries into a folder, and the licences and notices of
their packages into the folder licenses below it: what a program ships. If a program uses
only part of a package, --only selects the libraries that it needs. libtvm_ffi is always
copied.`,
		Example: `  tvmffi-bind setup
  tvmffi-bind setup xgrammar
  tvmffi-bind setup xgrammar --to image/app
  tvmffi-bind setup apache-tvm --to image/app --only libtvm_runtime.so`,
		Args: cobra.ArbitraryArgs,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return project.KnownNames(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, packages []string) error {
			if len(packages) > 0 && version != "" {
				return fmt.Errorf("--version is the version of libtvm_ffi; the package %s decides which one it needs: leave the flag out", packages[0])
			}
			if len(only) > 0 && (to == "" || len(packages) != 1) {
				return errors.New("--only selects libraries of one package for --to: name the package and the folder")
			}
			if err := repairCache(cmd.Context(), p); err != nil {
				return err
			}
			if len(packages) > 0 {
				return setupPackages(cmd.Context(), con, p, packages, asJSON, to, only)
			}
			lib, err := p.Core(cmd.Context(), version)
			if err != nil {
				return err
			}
			s, err := p.ReadLibraries(cmd.Context(), []probe.Library{lib})
			if err != nil {
				return err
			}
			abi := fmt.Sprintf("%d.%d.%d", s.ABI.Major, s.ABI.Minor, s.ABI.Patch)
			if asJSON {
				return con.JSON(map[string]string{
					"path": lib.Path, "package_version": lib.Identity.PackageVersion, "abi": abi, "sha256": lib.Identity.SHA256,
				})
			}
			if to != "" {
				shipped, err := whatShips([]probe.Library{lib}, nil)
				if err != nil {
					return err
				}
				return ship(con, to, shipped)
			}
			con.Notef("libtvm_ffi%s (C API %s); Go programs find it here:\n", ofPackage(lib), abi)
			con.Printf("%s\n", lib.Path)
			return nil
		},
	}
	cmd.Flags().StringVar(&version, "version", "", "version of the Python package apache-tvm-ffi to use")
	_ = cmd.RegisterFlagCompletionFunc("version", func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return probe.CoreVersions(), cobra.ShellCompDirectiveNoFileComp
	})
	cmd.Flags().StringVar(&to, "to", "", "folder to copy the libraries and their licences to")
	_ = cmd.MarkFlagDirname("to")
	cmd.Flags().StringSliceVar(&only, "only", nil, "files of the libraries that --to copies (default all)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	cmd.MarkFlagsMutuallyExclusive("to", "json")
	return cmd
}

// ship copies libraries and their licences into a folder.
func ship(con *console.Console, to string, libs []probe.Library) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, lib := range libs {
		s := probe.NewShipped(lib)
		if err := s.CopyTo(to); err != nil {
			return err
		}
		if len(s.LicenseFiles) == 0 {
			con.Notef("%s comes without the text of a licence%s: add it\n", s.File, with(" (its package names ", s.License, ")"))
		}
		con.Printf("%s\n", filepath.Join(to, s.File))
	}
	return nil
}

// selected returns the libraries with the given file names, and libtvm_ffi, which is the first one; without names, all of
// them.
func selected(libs []probe.Library, only []string) ([]probe.Library, error) {
	if len(only) == 0 {
		return libs, nil
	}
	var files []string
	for _, lib := range libs {
		files = append(files, filepath.Base(lib.Path))
	}
	wanted := func(file string) bool { // by its name on any system
		return slices.ContainsFunc(only, func(name string) bool { return find.File{Name: name}.Called(file) })
	}
	for _, name := range only {
		if !slices.ContainsFunc(files, find.File{Name: name}.Called) {
			return nil, fmt.Errorf("--only: there is no library %s: name some of %s", name, strings.Join(files, ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(libs), func(lib probe.Library) bool {
		return lib.Path != libs[0].Path && !wanted(filepath.Base(lib.Path))
	}), nil
}

// whatShips returns the selected ones of the libraries of a package and of those beside them, and what they bring.
func whatShips(libs []probe.Library, only []string) ([]probe.Library, error) {
	for _, file := range probe.Sidecars(libs) {
		identity := libs[len(libs)-1].Identity
		identity.PathInPackage = path.Join(path.Dir(identity.PathInPackage), filepath.Base(file))
		libs = append(libs, probe.Library{Path: file, Identity: identity})
	}
	shipped, err := selected(libs, only)
	if err != nil {
		return nil, err
	}
	brought, err := probe.Brought(shipped)
	return append(shipped, brought...), err
}

// with returns the text between two others, "" if there is none.
func with(before, text, after string) string {
	if text == "" {
		return ""
	}
	return before + text + after
}

// setupPackages finds or installs the libraries of packages, and prints their paths, or copies them
// to a folder.
func setupPackages(ctx context.Context, con *console.Console, p *probe.Prober, packages []string, asJSON bool, to string, only []string) error {
	subjects := make([]*probe.Subject, len(packages))
	for i, name := range packages { // all of them, before the first download
		s, err := probe.NewPackage([]string{name}, nil)
		if err != nil {
			return err
		}
		if s.Package == "" {
			return fmt.Errorf("%s is not a package: setup takes NAME, NAME==VERSION, or the file of a wheel", name)
		}
		subjects[i] = s
	}
	var all []probe.Library
	copied := map[string]string{} // the hashes of the files in the folder
	for i, name := range packages {
		c, err := subjects[i].Config("")
		if err != nil {
			return err
		}
		dir, err := p.Open(ctx, subjects[i], c)
		serves := len(c.Libraries) == 0 && err != nil
		if serves {
			c.Deps = probe.Serves(dir)
		}
		if err != nil && (!serves || len(c.Deps) == 0) {
			if probe.IsMissing(err) {
				return unusable(name, err)
			}
			return err
		}
		libs, err := p.Locate(ctx, c)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if _, err := p.ReadLibraries(ctx, libs); err != nil {
			return unusable(name, err)
		}
		switch {
		case to != "":
			shipped, err := whatShips(libs, only)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			for _, lib := range shipped {
				file, hash := filepath.Base(lib.Path), lib.Identity.SHA256
				if cmp.Or(copied[file], hash) != hash {
					return fmt.Errorf("%s needs another %s than the packages before it: give it a folder of its own", name, file)
				}
				copied[file] = hash
			}
			if err := ship(con, to, shipped); err != nil {
				return err
			}
		case !asJSON:
			if serves {
				libs = libs[1:] // without libtvm_ffi, which such libraries do not use
				con.Notef("libraries of %s, which do not use TVM-FFI; programs and other libraries find them here:\n", name)
			} else {
				con.Notef("libraries of %s; Go programs find them here:\n", name)
			}
			for _, lib := range libs {
				con.Printf("%s\n", lib.Path)
			}
			for _, file := range probe.Sidecars(libs) {
				con.Notef("used where the driver of its device is installed: %s\n", file)
			}
		}
		all = append(all, libs...)
	}
	if asJSON {
		return con.JSON(all)
	}
	return nil
}

// unusable is the error for a package whose libraries are here and cannot be loaded, a negative answer.
func unusable(name string, err error) error {
	return console.Refuse("the libraries of %s are here and cannot be loaded: %w", name, err)
}

// repairCache gets each damaged wheel of this platform again.
func repairCache(ctx context.Context, p *probe.Prober) error {
	wheels, _, err := wheel.Unpacked()
	if errors.Is(err, find.ErrShared) {
		return fmt.Errorf("the cache: %w", err)
	}
	for _, d := range wheels { // without a cache there is nothing to repair
		if !d.Spec().Here() {
			continue
		}
		if err := d.Verify(); err != nil {
			if err := p.Repair(ctx, d, err); err != nil {
				return err
			}
		}
	}
	return nil
}
