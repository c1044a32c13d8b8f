"""When a workspace is at rest."""

from uuid import UUID

import pytest

from holdfast.domain.workspaces import Workspace, WorkspaceId, WorkspaceStatus
from tests.support.builders import CHAT, ORG, OWNER

CHANGING = {WorkspaceStatus.STARTING, WorkspaceStatus.STOPPING}


@pytest.mark.parametrize("status", WorkspaceStatus)
def test_it_is_settled_unless_somebody_starts_or_stops_it(status: WorkspaceStatus) -> None:
    workspace = Workspace(
        workspace_id=WorkspaceId(UUID(int=4)),
        org_id=ORG,
        owner_id=OWNER,
        chat_id=CHAT,
        template="plain",
        status=status,
    )
    assert workspace.is_settled is (status not in CHANGING)
