package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"digitalocean-cloud-controller-manager/simulator"
)

// fill puts into a simulator what there is to begin with.
func (o *options) fill(sim *simulator.Simulator) error {
	if o.load != "" {
		if err := feed(o.load, sim.Restore); err != nil {
			return fmt.Errorf("--load: %w", err)
		}
	}
	for _, file := range o.scenarios {
		if err := feed(file, sim.Load); err != nil {
			return fmt.Errorf("--scenario %s: %w", file, err)
		}
	}
	for i := range o.droplets {
		sim.AddDroplet(simulator.DropletSpec{Name: fmt.Sprintf("example-%d", i+1)})
	}
	return nil
}

func feed(file string, into func(io.Reader) error) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	return into(f)
}

// saveSnapshot writes beside the file and renames, so that the old one is lost
// only when the new one is whole.
func saveSnapshot(sim *simulator.Simulator, file string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(file), ".snapshot-*")
	if err != nil {
		return fmt.Errorf("save snapshot: %w", err)
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name())
		}
	}()
	if err := sim.Save(f); err != nil {
		_ = f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("save snapshot: %w", err)
	}
	if err := os.Rename(f.Name(), file); err != nil {
		return fmt.Errorf("save snapshot: %w", err)
	}
	return nil
}
