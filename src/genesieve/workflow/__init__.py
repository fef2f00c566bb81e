"""From a file to a folder: what the command line does, usable from Python."""

from genesieve.workflow.fit import Outcome, repeated, run
from genesieve.workflow.model import load_model, save_model
from genesieve.workflow.panel import PanelSettings, panel
from genesieve.workflow.selection import select
from genesieve.workflow.settings import Resources, Settings
from genesieve.workflow.stages import DEMO
from genesieve.workflow.transfer import enrich, project
from genesieve.workflow.watch import Watcher

__all__ = [
    "DEMO",
    "Outcome",
    "PanelSettings",
    "Resources",
    "Settings",
    "Watcher",
    "enrich",
    "load_model",
    "panel",
    "project",
    "repeated",
    "run",
    "save_model",
    "select",
]
